"""Operators that join, cut, reorder and reshape values, and reduce them.

Source: the operators of MXNet 1.9 by these names (api/python/symbol).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto

from ...ranked_call import Axis, Value
from ..call import Call, Handler

_END = 2**31 - 1


def _concat(call: Call) -> Value:
    axis = call.axis(int(call.attribute("dim", call.attribute("axis", 1))), call.x.rank)
    return call.apply("Concat", call.x, *call.values[1:], axis=axis)


def _stack(call: Call) -> Value:
    rank = call.x.rank + 1
    axis = call.axis(int(call.attribute("axis", 0)), rank)
    parts = [call.apply("Unsqueeze", v, call.integers([axis]), rank=rank) for v in call.values]
    return call.apply("Concat", *parts, axis=axis)


def _split(call: Call) -> list[Value]:
    x, count = call.x, int(call.attribute("num_outputs"))
    axis = call.axis(int(call.attribute("axis", 1)), x.rank)
    parts = [Value(n, x.rank) for n in call.nodes("Split", [x.name], count, axis=axis, num_outputs=count)]
    if not call.flag("squeeze_axis"):
        return parts
    return [call.apply("Squeeze", p, call.integers([axis]), rank=x.rank - 1) for p in parts]


def _cut(call: Call, first: list[int], last: list[int] | str, axes: list[int], steps: list[int]) -> Value:
    ends = last if isinstance(last, str) else call.integers(last)
    return call.apply("Slice", call.x, call.integers(first), ends, call.integers(axes), call.integers(steps))


def _slice_axis(call: Call) -> Value:
    axis = call.axis(int(call.attribute("axis")), call.x.rank)
    end = call.attribute("end")
    return _cut(call, [int(call.attribute("begin"))], [_END if end is None else int(end)], [axis], [1])


def _slice(call: Call) -> Value:
    """None is an end of the axis, by the sign of the step."""
    begin, end = call.attribute("begin"), call.attribute("end")
    steps = [1 if s is None else int(s) for s in call.attribute("step") or ()] or [1] * len(begin)
    first = [(0 if s > 0 else _END) if b is None else int(b) for b, s in zip(begin, steps, strict=True)]
    last = [(_END if s > 0 else -_END) if e is None else int(e) for e, s in zip(end, steps, strict=True)]
    return _cut(call, first, last, list(range(len(first))), steps)


def _slice_like(call: Call) -> Value:
    axes = call.axes("axes")
    ends = [call.sizes(call.value(1), a, a + 1) for a in axes]
    return _cut(call, [0] * len(axes), call.node("Concat", ends, axis=0), axes, [1] * len(axes))


def _flatten(call: Call) -> Value:
    return call.apply("Flatten", call.x, axis=1, rank=2)


def _reshape(call: Call) -> Value:
    """Reshapes by extents and codes: 0 keeps an axis, -1 is inferred, -2 keeps all that follow, -3 merges two axes,
    -4 splits one into the two extents behind it."""
    x, codes = call.x, call.numbers("shape", None)
    if call.flag("reverse"):
        if any(c < -1 for c in codes):
            raise call.unsupported("reverse with codes that merge or split axes")
        shift = x.rank - len(codes)
        shape: list[int | Axis | str] = [Axis(i + shift) if c == 0 else c for i, c in enumerate(codes)]
        return call.reshaped(x, shape)
    shape, source, at = [], 0, 0
    while at < len(codes):
        code = codes[at]
        if code == -2:
            shape += [Axis(i) for i in range(source, x.rank)]
            source = x.rank
        elif code == -3:
            shape.append(call.node("Mul", [call.sizes(x, source, source + 1), call.sizes(x, source + 1, source + 2)]))
            source += 2
        elif code == -4:
            shape += _parts(call, call.sizes(x, source, source + 1), codes[at + 1 : at + 3])
            source, at = source + 1, at + 2
        else:
            shape.append(Axis(source) if code == 0 else code)
            source += 1
        at += 1
    return call.reshaped(x, shape)


def _parts(call: Call, extent: str, codes: list[int]) -> list[int | Axis | str]:
    first, second = codes
    if first == -1:
        return [call.node("Div", [extent, call.integers([second])]), second]
    if second == -1:
        return [first, call.node("Div", [extent, call.integers([first])])]
    return [first, second]


def _transpose(call: Call) -> Value:
    axes = call.attribute("axes") or ()
    perm = [call.axis(int(a), call.x.rank) for a in axes] or list(range(call.x.rank))[::-1]
    return call.apply("Transpose", call.x, perm=perm)


def _swap_axes(call: Call) -> Value:
    perm = list(range(call.x.rank))
    a, b = (call.axis(int(call.attribute(n, 0)), call.x.rank) for n in ("dim1", "dim2"))
    perm[a], perm[b] = b, a
    return call.apply("Transpose", call.x, perm=perm)


def _expand_dims(call: Call) -> Value:
    rank = call.x.rank + 1
    return call.apply("Unsqueeze", call.x, call.integers([call.axis(int(call.attribute("axis")), rank)]), rank=rank)


def _squeeze(call: Call) -> Value:
    if call.attribute("axis") is None:
        raise call.unsupported("it has no axis")
    axes = call.axes()
    return call.apply("Squeeze", call.x, call.integers(axes), rank=call.x.rank - len(axes))


def _tile(call: Call) -> Value:
    reps, x = call.numbers("reps", None), call.x
    rank = max(len(reps), x.rank)
    if rank > x.rank:
        x = call.apply("Unsqueeze", x, call.integers(range(rank - x.rank)), rank=rank)
    return call.apply("Tile", x, call.integers([1] * (rank - len(reps)) + reps))


def _repeat(call: Call) -> Value:
    """Each element several times, one after the other."""
    x, count = call.x, int(call.attribute("repeats"))
    if call.attribute("axis") is None:
        raise call.unsupported("it has no axis")
    (axis,) = call.axes()
    wide = call.apply("Unsqueeze", x, call.integers([axis + 1]), rank=x.rank + 1)
    repeated = call.apply("Tile", wide, call.integers([count if d == axis + 1 else 1 for d in range(x.rank + 1)]))
    total = call.node("Mul", [call.sizes(x, axis, axis + 1), call.integers([count])])
    merged: list[int | Axis | str] = [Axis(i if i < axis else i + 1) for i in range(x.rank)]
    merged[axis] = total
    return call.reshaped(repeated, merged)


def _broadcast_to(call: Call) -> Value:
    shape = [n or 1 for n in call.numbers("shape", None)]
    return call.apply("Expand", call.x, call.integers(shape), rank=len(shape))


def _broadcast_axis(call: Call) -> Value:
    shape = [1] * call.x.rank
    axes, sizes = call.numbers("axis", None), call.numbers("size", None)
    for axis, size in zip(axes, sizes, strict=True):
        shape[call.axis(axis, call.x.rank)] = size
    return call.apply("Expand", call.x, call.integers(shape))


def _broadcast_like(call: Call) -> Value:
    if call.attribute("lhs_axes") is not None:
        raise call.unsupported("lhs_axes")
    return call.apply("Expand", call.x, call.node("Shape", [call.value(1).name]))


def _pad(call: Call) -> Value:
    widths, mode = call.numbers("pad_width", 2 * call.x.rank), call.attribute("mode", "constant")
    if mode not in ("constant", "edge", "reflect"):
        raise call.unsupported(f"the mode {mode!r}")
    value = call.number(call.number_of("constant_value", 0))
    return call.apply("Pad", call.x, call.integers(widths[::2] + widths[1::2]), value, mode=mode)


def _take(call: Call) -> Value:
    """Indices beyond an end are that end."""
    if call.attribute("mode", "clip") != "clip":
        raise call.unsupported(f"the mode {call.attribute('mode')!r}")
    x = call.x
    axis = call.axis(int(call.attribute("axis", 0)), x.rank)
    index = call.apply("Cast", call.value(1), to=TensorProto.INT64)
    last = call.node("Sub", [call.node("Squeeze", [call.sizes(x, axis, axis + 1)]), call.integers(1)])
    within = call.apply("Clip", index, call.integers(0), last)
    return call.apply("Gather", x, within, rank=x.rank + index.rank - 1, axis=axis)


def _one_hot(call: Call) -> Value:
    index = call.apply("Cast", call.x, to=TensorProto.INT64)
    values = np.array([call.number_of("off_value", 0), call.number_of("on_value", 1)], np.float32)
    depth = call.integers(int(call.attribute("depth")))
    return call.apply("OneHot", index, depth, call.constant(values, "values"), rank=index.rank + 1)


def _reduction(op: str) -> Handler:
    def apply(call: Call) -> Value:
        axes, keep = call.axes(), call.flag("keepdims")
        rank = call.x.rank if keep else call.x.rank - len(axes)
        found = call.apply(op, call.x, call.integers(axes), rank=rank, keepdims=int(keep))
        # Without an axis the result is a vector of one element.
        return call.reshaped(found, [1]) if rank == 0 else found

    return apply


def _norm(call: Call) -> Value:
    order = call.attribute("ord", 2)
    if order not in (1, 2):
        raise call.unsupported(f"the norm of order {order}")
    return _as_value(_reduction(f"ReduceL{order}")(call))


def _as_value(found: Any) -> Value:
    assert isinstance(found, Value)
    return found


def _arg(op: str) -> Handler:
    """The index as a real number."""

    def apply(call: Call) -> Value:
        if call.attribute("axis") is None:
            raise call.unsupported("it has no axis")
        (axis,), keep = call.axes(), call.flag("keepdims")
        index = call.apply(op, call.x, rank=call.x.rank - (not keep), axis=axis, keepdims=int(keep))
        return call.apply("Cast", index, to=TensorProto.FLOAT)

    return apply


def _softmax(op: str) -> Handler:
    def apply(call: Call) -> Value:
        if call.flag("use_length"):
            raise call.unsupported("lengths as a second operand")
        axis = call.axis(int(call.attribute("axis", -1)), call.x.rank)
        temperature = call.attribute("temperature")
        return call.apply(op, call.scaled(call.x, 1 / temperature if temperature else 1, 0), axis=axis)

    return apply


def _softmax_output(call: Call) -> Value:
    """Along channels, or of all elements behind the batch."""
    x = call.x
    if call.flag("multi_output") or x.rank == 2:
        return call.apply("Softmax", x, axis=1)
    if call.flag("preserve_shape"):
        return call.apply("Softmax", x, axis=-1)
    return call.reshaped(call.apply("Softmax", call.apply("Flatten", x, axis=1, rank=2), axis=1), _shape_of(call, x))


def _shape_of(call: Call, x: Value) -> list[int | Axis | str]:
    return [call.sizes(x, i, i + 1) for i in range(x.rank)]


def _softmax_activation(call: Call) -> Value:
    channels = call.attribute("mode", "instance") == "channel"
    return call.apply("Softmax", call.x, axis=1 if channels else call.x.rank - 1)


def _blocks(op: str) -> Handler:
    return lambda call: call.apply(op, call.x, blocksize=int(call.attribute("block_size")))


OPERATORS: dict[str, Handler] = {
    **dict.fromkeys(("Concat", "concat"), _concat),
    **dict.fromkeys(("Flatten", "flatten"), _flatten),
    **dict.fromkeys(("Pad", "pad"), _pad),
    **dict.fromkeys(("Reshape", "reshape"), _reshape),
    **dict.fromkeys(("SliceChannel", "split"), _split),
    **dict.fromkeys(("Softmax", "SoftmaxOutput"), _softmax_output),
    **dict.fromkeys(("SwapAxis", "swapaxes"), _swap_axes),
    **dict.fromkeys(("broadcast_axes", "broadcast_axis"), _broadcast_axis),
    **dict.fromkeys(("max", "max_axis"), _reduction("ReduceMax")),
    **dict.fromkeys(("min", "min_axis"), _reduction("ReduceMin")),
    **dict.fromkeys(("sum", "sum_axis"), _reduction("ReduceSum")),
    "SoftmaxActivation": _softmax_activation,
    "argmax": _arg("ArgMax"),
    "argmin": _arg("ArgMin"),
    "broadcast_like": _broadcast_like,
    "broadcast_to": _broadcast_to,
    "depth_to_space": _blocks("DepthToSpace"),
    "expand_dims": _expand_dims,
    "log_softmax": _softmax("LogSoftmax"),
    "mean": _reduction("ReduceMean"),
    "norm": _norm,
    "one_hot": _one_hot,
    "prod": _reduction("ReduceProd"),
    "repeat": _repeat,
    "slice": _slice,
    "slice_axis": _slice_axis,
    "slice_like": _slice_like,
    "softmax": _softmax("Softmax"),
    "space_to_depth": _blocks("SpaceToDepth"),
    "squeeze": _squeeze,
    "stack": _stack,
    "take": _take,
    "tile": _tile,
    "transpose": _transpose,
}
