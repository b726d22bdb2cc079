"""Conversion of element types, and operators that only copy."""

from __future__ import annotations

from collections.abc import Callable

from ...dtypes import BOOL, F16, ONNX_DTYPES, STORAGE_TYPES, DType
from ...ir.nodes import Bitcast, Const
from ...tensor import Tensor, compute
from ..broadcast import pointwise
from ..call import Call
from .storage import stored_as


def onnx_dtype(call: Call, name: str, default: int) -> DType:
    """The dtype of attribute `name`, which is an ONNX number; that which holds a storage type. Raises UnsupportedError
    for strings and complex numbers."""
    number = call.attribute(name, default)
    if number in STORAGE_TYPES:
        return STORAGE_TYPES[number].held
    if number not in ONNX_DTYPES:
        listed = ", ".join([*(d.name for d in ONNX_DTYPES.values()), *(t.name for t in STORAGE_TYPES.values())])
        raise call.unsupported(f"element type {number} of attribute '{name}' is not supported", f"use one of {listed}")
    return ONNX_DTYPES[number]


def _copy(call: Call) -> Tensor:
    return pointwise(call, lambda x: x, call.input(0))


def _cast(call: Call) -> Tensor:
    dtype, stored = onnx_dtype(call, "to", 0), STORAGE_TYPES.get(call.attribute("to", 0))
    if stored is None:
        return pointwise(call, lambda x: x.cast(dtype), call.input(0))
    saturate, mode = call.flag("saturate", 1), call.attribute("round_mode", "up")
    return pointwise(call, lambda x: stored_as(x, stored, saturate=saturate, mode=mode), call.input(0))


def _cast_like(call: Call) -> Tensor:
    """The importer sets the attribute `to` where the second input is of a storage type."""
    if call.attribute("to", 0):
        return _cast(call)
    dtype = call.input(1).dtype
    return pointwise(call, lambda x: x.cast(dtype), call.input(0))


def _bit_cast(call: Call) -> Tensor:
    """The bits of each element as those of another type of as many."""
    x, number = call.input(0), call.attribute("to", 0)
    if number in STORAGE_TYPES or F16 in (x.dtype, ONNX_DTYPES.get(number)):
        raise call.unsupported(
            f"from {x.dtype} to element type {number}: float16, bfloat16 and types of few bits are held as wider ones",
            "use types of 32 bits, or Cast",
        )
    dtype = onnx_dtype(call, "to", 0)
    if dtype.bits != x.dtype.bits:
        raise call.unsupported(f"{x.dtype} has {x.dtype.bits} bits, {dtype} {dtype.bits}", "the model is invalid")
    if dtype.is_float == x.dtype.is_float:
        return pointwise(call, lambda v: v.cast(dtype), x)
    return pointwise(call, lambda v: Bitcast(dtype, v), x)


def _dropout(call: Call) -> tuple[Tensor, Tensor]:
    """As in inference: a copy, and a mask of what is kept: all, or in onnxruntime before opset 12, where ONNX leaves it
    open, zeros (of the input's dtype before opset 10)."""
    training = call.constant(2, "training_mode") if call.opset >= 12 else None
    if training is not None and training.any():
        raise call.unsupported("it is in training mode", "export the model for inference")
    x = call.input(0)
    dtype = BOOL if call.opset >= 10 else x.dtype
    mask = compute(f"{call.name}.mask", x.shape, (), lambda *_: Const(call.opset >= 12, BOOL).cast(dtype))
    return _copy(call), mask


OPERATORS: dict[str, Callable[[Call], Tensor | tuple[Tensor, ...]]] = {
    "BitCast": _bit_cast,
    "Cast": _cast,
    "CastLike": _cast_like,
    "Dropout": _dropout,
    "Identity": _copy,
}
