"""Constants, variables, and values that go by shapes."""

from __future__ import annotations

import numpy as np
import onnx

from ....errors import UnsupportedError
from ...operators.sizes import broadcast_args
from ..call import Call, Handler
from ..values import Array, Value, Variable

_INT32 = onnx.TensorProto.INT32


def _const(call: Call) -> Value:
    try:
        return call.scope.model.constant(call.graph_node)
    except UnsupportedError:
        return Variable(call.stem, "")  # text, which nothing that is supported reads


def _variable(call: Call) -> Variable:
    return Variable(call.graph_node.name, call.scope.model.key_of(call.graph_node))


def read_variable(call: Call) -> Value:
    variable = call.operand(0)
    if not isinstance(variable, Variable):
        return variable
    return call.scope.model.checkpoint.read(variable.key, variable.name)


def _old_variable(call: Call) -> Array:
    """A variable of TensorFlow 1, which is its value."""
    variable = _variable(call)
    return call.scope.model.checkpoint.read(variable.key, variable.name)


def _shape(call: Call) -> str:
    return call.cast(call.node("Shape", [call.read(0)]), call.type("out_type", _INT32))


def _shapes(call: Call) -> list[str]:
    dtype = call.type("out_type", _INT32)
    return [call.cast(call.node("Shape", [value]), dtype) for value in call.reads()]


def _size(call: Call) -> str:
    return call.cast(call.node("Size", [call.read(0)]), call.type("out_type", _INT32))


def _rank(call: Call) -> Array:
    return np.asarray(call.rank(0), np.int32)


def _range(call: Call) -> str:
    numbers = [call.known(i) for i in range(3)]
    if all(n is not None for n in numbers) and not call.is_real(0):
        start, end, step = (int(n.reshape(-1)[0]) for n in numbers if n is not None)
        if step and len(range(start, end, step)) <= 64:
            listed = np.array(range(start, end, step), onnx.helper.tensor_dtype_to_np_dtype(call.dtype(0)))
            return call.builder.constant(listed, call.stem)
    return call.node("Range", [call.scalar(i) for i in range(3)])


def _fill(call: Call) -> str:
    return call.node("Expand", [call.scalar(1), call.sizes(0)])


def _filled_like(value: int) -> Handler:
    def convert(call: Call) -> str:
        return call.node("Expand", [call.number_like(value, 0), call.node("Shape", [call.read(0)])])

    return convert


def _broadcast_to(call: Call) -> str:
    return call.node("Expand", [call.read(0), call.sizes(1)])


def _broadcast_args(call: Call) -> str:
    shape = broadcast_args(call, [call.sizes(i) for i in range(2)], [call.length(i) for i in range(2)])
    return call.cast(shape, call.dtype(0))


OPERATORS: dict[str, Handler] = {
    "BroadcastArgs": _broadcast_args,
    "BroadcastTo": _broadcast_to,
    "Const": _const,
    "Fill": _fill,
    "OnesLike": _filled_like(1),
    "Range": _range,
    "Rank": _rank,
    "ReadVariableOp": read_variable,
    "Shape": _shape,
    "ShapeN": _shapes,
    "Size": _size,
    "VarHandleOp": _variable,
    "Variable": _old_variable,
    "VariableV2": _old_variable,
    "ZerosLike": _filled_like(0),
}
