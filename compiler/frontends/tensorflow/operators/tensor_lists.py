"""Lists of tensors, as loops over sequences keep them: each is one tensor, whose first dimension is the list's."""

from __future__ import annotations

import onnx

from ..call import Call, Handler, Value

_INT64 = onnx.TensorProto.INT64


def _reserve(call: Call) -> str:
    """Elements are zero until they are set. Extents that are left open are those that the loop around writes."""
    sizes = call.known(0)
    if sizes is None or sizes.ndim == 0 or (sizes < 0).any():
        raise call.unsupported("the shape of its elements is not known: save the model for a batch of a definite size")
    count = call.sizes(1)
    shape = call.node("Concat", [count, call.integers([int(n) for n in sizes])], axis=0)
    return call.node("Expand", [call.number_of(0, call.type("element_dtype")), shape])


def _from_tensor(call: Call) -> Value:
    return call.operand(0)


def _item(call: Call) -> str:
    return call.node("Gather", [call.read(0), call.scalar(1, _INT64)], axis=0)


def _set_item(call: Call) -> str:
    at = call.node("Reshape", [call.scalar(1, _INT64), call.integers([1, 1])])
    item = call.node("Unsqueeze", [call.read(2), call.integers([0])])
    return call.node("ScatterND", [call.read(0), at, item])


def _length(call: Call) -> str:
    length = call.node("Shape", [call.read(0)], start=0, end=1)
    return call.cast(call.node("Reshape", [length, call.integers([])]), onnx.TensorProto.INT32)


OPERATORS: dict[str, Handler] = {
    "TensorListFromTensor": _from_tensor,
    "TensorListGetItem": _item,
    "TensorListLength": _length,
    "TensorListReserve": _reserve,
    "TensorListSetItem": _set_item,
    "TensorListStack": _from_tensor,
}
