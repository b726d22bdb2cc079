"""Reads a digit with the example's model as a library. Only Python is needed, not the compiler.

python classify.py lib/libresnet18_digits.so lib/resnet18_digits.weights image.f32
"""

from __future__ import annotations

import sys
from array import array
from ctypes import CDLL, POINTER, byref, c_char_p, c_float, c_int, c_void_p, cast


def main(library: str, weights: str, image: str) -> None:
    code = CDLL(library)
    code.resnet18_digits_message.restype = c_char_p

    def check(status: int) -> None:
        if status:
            raise SystemExit(code.resnet18_digits_message(status).decode())

    model, context = c_void_p(), c_void_p()
    check(code.resnet18_digits_create_from_file(weights.encode(), byref(model)))
    check(code.resnet18_digits_context_create(model, c_int(1), byref(context)))
    pixels = array("f")
    with open(image, "rb") as file:
        pixels.fromfile(file, 32 * 32)
    logits = (c_float * 10)()
    inputs = (c_void_p * 1)(pixels.buffer_info()[0])
    outputs = (c_void_p * 1)(cast(logits, c_void_p).value)
    check(code.resnet18_digits_context_run(context, cast(inputs, POINTER(c_void_p)), cast(outputs, POINTER(c_void_p))))
    print(max(range(10), key=logits.__getitem__))
    code.resnet18_digits_context_destroy(context)
    code.resnet18_digits_destroy(model)


if __name__ == "__main__":
    main(*sys.argv[1:])
