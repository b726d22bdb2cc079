"""Lists of tensors, as loops over sequences keep them: each is one tensor, whose first dimension is the list's."""

from __future__ import annotations

import onnx

from ..call import Call, Handler
from ..values import Reserved, Value, Written

_INT64 = onnx.TensorProto.INT64


class ListIsRead(Exception):
    """A body of a loop reads from a list that is empty when the loop begins, so its elements have to be there."""


def _reserve(call: Call) -> Reserved:
    """Elements are zero until they are set; their shape may be left open to those that are set."""
    sizes = call.known(0)
    known = sizes is not None and sizes.ndim == 1 and bool((sizes >= 0).all())
    listed = tuple(int(n) for n in sizes) if known and sizes is not None else None
    return Reserved(call.stem, call.sizes(1), listed, call.type("element_dtype"))


def reserved_tensor(call: Call, value: Reserved) -> str:
    """The elements of a list that is empty yet."""
    if value.sizes is None:
        raise call.unsupported(
            f"the shape of the elements of {value.name!r} is not known: save the model for a batch of a definite size"
        )
    shape = call.node("Concat", [value.count, call.integers(value.sizes)], axis=0)
    return call.node("Expand", [call.number_of(0, value.dtype), shape])


def _from_tensor(call: Call) -> Value:
    return as_tensor(call, call.operand(0))


def as_tensor(call: Call, value: Value) -> Value:
    """The elements of a list."""
    return reserved_tensor(call, value) if isinstance(value, Reserved) else value


def _written(call: Call) -> Value:
    """The list of operand 0 as a tensor. Raises ListIsRead in a loop in which it is not one yet."""
    value = call.operand(0)
    if not isinstance(value, Reserved | Written):
        return value
    if call.scope.in_loop:
        raise ListIsRead
    if isinstance(value, Written):
        raise call.unsupported("it reads from a list that was just written")
    return reserved_tensor(call, value)


def _item(call: Call) -> str:
    call.operands[0] = _written(call)
    return call.node("Gather", [call.read(0), call.scalar(1, _INT64)], axis=0)


def _set_item(call: Call) -> Value:
    if isinstance(value := call.operand(0), Reserved) and call.scope.in_loop:
        return Written(value, call.read(1), call.read(2))
    call.operands[0] = _written(call)
    at = call.node("Reshape", [call.scalar(1, _INT64), call.integers([1, 1])])
    item = call.node("Unsqueeze", [call.read(2), call.integers([0])])
    return call.node("ScatterND", [call.read(0), at, item])


def _length(call: Call) -> str:
    value = call.operand(0)
    if isinstance(value, Reserved):
        length = value.count
    else:
        length = call.node("Shape", [call.scope.materialised(_written(call), call.stem)], start=0, end=1)
    return call.cast(call.node("Reshape", [length, call.integers([])]), onnx.TensorProto.INT32)


OPERATORS: dict[str, Handler] = {
    "TensorListFromTensor": _from_tensor,
    "TensorListGetItem": _item,
    "TensorListLength": _length,
    "TensorListReserve": _reserve,
    "TensorListSetItem": _set_item,
    "TensorListStack": _from_tensor,
}
