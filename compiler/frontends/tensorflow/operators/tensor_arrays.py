"""Arrays of tensors, as loops of TensorFlow 1 keep them: lists. The flow, which orders what is done to an array, stands
for the list, and its handle for none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx

from ..call import Call, Handler
from ..facts import Fact
from ..values import Reserved, Value
from . import tensor_lists

_INT64 = onnx.TensorProto.INT64


def _made(call: Call) -> list[Value]:
    """Handle and flow. Elements are zero until they are set; their shape may be left open to those that are set."""
    if call.flag("dynamic_size"):
        raise call.unsupported("it grows while it is written: give it a size and dynamic_size=False")
    sizes = call.shape_given("element_shape")
    known = tuple(n for n in sizes or () if n is not None)
    listed = known if sizes is not None and len(known) == len(sizes) else None
    return [np.zeros((), np.int32), Reserved(call.stem, call.sizes(0), listed, call.type("dtype"))]


def _scatter(call: Call) -> Value:
    """The rows of a tensor, by their numbers: as a rule all of an array that has none yet, in their order."""
    made, numbers = call.operand(3), call.known(1)
    if isinstance(made, Reserved):
        count = call.facts.get(made.count, Fact(0)).numbers
        if numbers is not None and count == (numbers.size,) and np.array_equal(numbers, np.arange(numbers.size)):
            return call.operand(2)
        sizes = call.node("Shape", [call.read(2)], start=1)
        shape = call.node("Concat", [made.count, sizes], axis=0)
        before = call.node("Expand", [call.number_of(0, made.dtype), shape])
    else:
        before = call.read(3)
    places = call.node("Reshape", [call.cast(call.read(1), _INT64), call.integers([-1, 1])])
    return call.node("ScatterND", [before, places, call.read(2)])


def _gather(call: Call) -> Value:
    """Elements by their numbers."""
    call.operands = [tensor_lists.as_tensor(call, call.operand(2)), call.operand(1)]
    return call.node("Gather", [call.read(0), call.read(1)], axis=0)


def _of_list(handler: Handler, *order: int) -> Handler:
    """The operator of a list whose operands are those of these numbers."""

    def reordered(call: Call) -> Value | Sequence[Value]:
        call.operands = [call.operand(i) for i in order]
        return handler(call)

    return reordered


OPERATORS: dict[str, Handler] = {
    "TensorArrayGatherV3": _gather,
    "TensorArrayReadV3": _of_list(tensor_lists.OPERATORS["TensorListGetItem"], 2, 1),
    "TensorArrayScatterV3": _scatter,
    "TensorArraySizeV3": _of_list(tensor_lists.OPERATORS["TensorListLength"], 1),
    "TensorArrayV3": _made,
    "TensorArrayWriteV3": _of_list(tensor_lists.OPERATORS["TensorListSetItem"], 3, 1, 2),
}
