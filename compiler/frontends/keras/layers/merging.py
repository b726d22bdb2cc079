"""Layers of several operands, and operations of Keras on two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import onnx

from ..call import Call, Handler, Value
from .activations import scaled


def _operands(call: Call) -> list[Value]:
    """All in real numbers and of one rank: those of fewer dimensions have more behind the batch."""
    values = [call.real(v) for v in call.values]
    if not values:
        raise call.unsupported("it is called on nothing")
    rank = max(v.rank for v in values)
    return [_widened(call, v, rank) for v in values]


def _widened(call: Call, v: Value, rank: int) -> Value:
    if v.rank == rank:
        return v
    axes = call.integers(list(range(1, 1 + rank - v.rank)))
    return replace(v, name=call.node("Unsqueeze", [v.name, axes]), rank=rank)


def _merge(op: str) -> Handler:
    """An operator of two operands on the first and each of the others."""

    def convert(call: Call) -> Value:
        result, *others = _operands(call)
        for v in others:
            result = call.mapped(op, [result, v])
        return replace(result, mask=None)

    return convert


def _subtract(call: Call) -> Value:
    if len(call.values) != 2:
        raise call.unsupported(f"it has {len(call.values)} operands, not two")
    return call.mapped("Sub", _operands(call))


def _average(call: Call) -> Value:
    return scaled(call, _merge("Add")(call), 1 / len(call.values))  # type: ignore[arg-type]


def _concatenate(call: Call) -> Value:
    values = [call.real(v) for v in call.values]
    return call.mapped("Concat", values, axis=int(call.option("axis", -1)) % values[0].rank)


def _dot(call: Call) -> Value:
    """The product along one axis of each; the result has the other axes of the first, then those of the second."""
    a, b = (call.real(v) for v in call.values)
    given = call.option("axes")
    axes = [given, given] if isinstance(given, int) else [int(n) for n in given]
    i, j = axes[0] % a.rank, axes[1] % b.rank
    if 0 in (i, j):
        raise call.unsupported("it sums over the batch")
    if call.option("normalize", False):
        a, b = normalised(call, a, [i]), normalised(call, b, [j])
    of_a = ["n", "s" if i == 1 else "a", *("s" if i == d else chr(ord("a") + d - 1) for d in range(2, a.rank))]
    of_b = ["n", *("s" if j == d else chr(ord("A") + d) for d in range(1, b.rank))]
    rest = [d for d in of_a[1:] if d != "s"] + [d for d in of_b[1:] if d != "s"]
    equation = f"{''.join(of_a)},{''.join(of_b)}->n{''.join(rest)}"
    result = call.node("Einsum", [a.name, b.name], equation=equation)
    if rest:
        return Value(result, 1 + len(rest))
    return Value(call.node("Unsqueeze", [result, call.integers([1])]), 2)


def normalised(call: Call, x: Value, axes: Sequence[int]) -> Value:
    """A value of length 1 along `axes`; a sum of squares below 1e-12 counts as so much."""
    squares = call.node("ReduceSumSquare", [x.name, call.integers(axes)], keepdims=1)
    length = call.node("Sqrt", [call.node("Max", [squares, call.number(1e-12)])])
    return Value(call.node("Div", [x.name, length]), x.rank)


def _operation(op: str) -> Handler:
    """An operation on two tensors, or a tensor and a number."""

    def convert(call: Call) -> Value:
        given = [*call.args, *call.keywords.values()]
        if len(given) != 2 or not all(isinstance(g, Value | int | float) for g in given):
            raise call.unsupported("it is called on other than two tensors, or a tensor and a number")
        if all(isinstance(g, Value) for g in given):
            return call.mapped(op, _aligned(call, [call.real(v) for v in given]))
        if isinstance(given[0], Value):
            return call.mapped(op, [call.real(given[0])], (call.number(given[1]),))
        x = call.real(given[1])
        first = call.constant(np.asarray(given[0], np.float32), "number")
        return Value(call.node(op, [first, x.name]), x.rank)

    return convert


def _aligned(call: Call, values: Sequence[Value]) -> list[Value]:
    """Operations align dimensions from the last on."""
    rank = max(v.rank for v in values)
    if any(v.rank != rank for v in values):
        raise call.unsupported("its operands have different ranks")
    return list(values)


def _filled(number: int) -> Handler:
    """This number in the shape of the operand."""

    def convert(call: Call) -> Value:
        x = call.values[0]
        dtype = str(call.option("dtype", x.dtype))
        constant = call.builder.constant(np.asarray(number, dtype), "number")
        return Value(call.node("Expand", [constant, call.node("Shape", [x.name])]), x.rank, dtype)

    return convert


def _expand_dims(call: Call) -> Value:
    x, axis = call.values[0], call.option("axis")
    if not isinstance(axis, int):
        raise call.unsupported(f"its axis is {axis!r}, not one number")
    name = call.node("Unsqueeze", [x.name, call.integers([axis])])
    return replace(x, name=name, rank=x.rank + 1, mask=None)


def _joined(call: Call) -> Value:
    """Operations concatenate elements of any one type."""
    first, *others = call.values
    if any(v.dtype != first.dtype for v in others):
        return _concatenate(call)
    axis = int(call.option("axis", -1)) % first.rank
    return Value(call.node("Concat", [v.name for v in call.values], axis=axis), first.rank, first.dtype)


def _not_equal(call: Call) -> Value:
    """To a number. Keras 3 computes masks of steps by it, and by the other operations on booleans."""
    x, number = call.args
    if not isinstance(x, Value) or not isinstance(number, int | float):
        raise call.unsupported("it is called on other than a tensor and a number")
    constant = call.builder.constant(np.asarray(number, x.dtype), "number")
    return Value(call.node("Not", [call.node("Equal", [x.name, constant])]), x.rank, "bool")


def _convert_to_tensor(call: Call) -> Value:
    x = call.values[0]
    if call.option("dtype", x.dtype) != x.dtype:
        raise call.unsupported(f"it converts elements to {call.option('dtype')}")
    return replace(x, mask=None)


def _logical_or(call: Call) -> Value:
    values = call.values
    if len(values) != 2 or any(v.dtype != "bool" for v in values):
        raise call.unsupported("it is of other than two booleans")
    a, b = _aligned(call, values)
    return Value(call.node("Or", [a.name, b.name]), a.rank, "bool")


def _any(call: Call) -> Value:
    """Whether any boolean along the last axis is true."""
    x = call.values[0]
    if x.dtype != "bool" or call.option("axis") not in (-1, [-1]) or call.option("keepdims", False):
        raise call.unsupported("it is not of booleans along the last axis")
    numbers = call.node("ReduceMax", [call.real(x).name, call.integers([-1])], keepdims=0)
    return Value(call.node("Cast", [numbers], to=onnx.TensorProto.BOOL), x.rank - 1, "bool")


LAYERS: dict[str, Handler] = {
    "Add": _merge("Add"),
    "Average": _average,
    "Concatenate": _concatenate,
    "Dot": _dot,
    "Maximum": _merge("Max"),
    "Minimum": _merge("Min"),
    "Multiply": _merge("Mul"),
    "Subtract": _subtract,
    "ops.Add": _operation("Add"),
    "ops.Any": _any,
    "ops.Concatenate": _joined,
    "ops.ConvertToTensor": _convert_to_tensor,
    "ops.Divide": _operation("Div"),
    "ops.ExpandDims": _expand_dims,
    "ops.LogicalOr": _logical_or,
    "ops.Multiply": _operation("Mul"),
    "ops.NotEqual": _not_equal,
    "ops.OnesLike": _filled(1),
    "ops.Subtract": _operation("Sub"),
    "ops.TrueDivide": _operation("Div"),
    "ops.ZerosLike": _filled(0),
}
