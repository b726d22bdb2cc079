"""Slices and triangles of a tensor."""

from __future__ import annotations

from ..ir.construct import select
from ..ir.nodes import Expr
from ..tensor import Tensor, compute
from .axes import diagonal_within, many_axes
from .call import Call
from .window import scaled, shifted

_TO_THE_FIRST = (2**31 - 1, 2**63 - 1)


def _slice(call: Call) -> Tensor:
    """starts, ends and axes are attributes before opset 10, and inputs since, with steps."""
    t = call.input(0)
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    axes: tuple[int, ...] | None
    if call.opset < 10:
        starts, ends = call.attribute("starts", ()), call.attribute("ends", ())
        axes = call.attribute("axes", ()) or None
        steps = None
    else:
        starts, ends = call.ints(1, "starts") or (), call.ints(2, "ends") or ()
        axes, steps = call.ints(3, "axes"), call.ints(4, "steps")
    axes = many_axes(call, tuple(range(len(starts))) if axes is None else axes, t.rank)
    steps = (1,) * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        raise call.unsupported("starts, ends, axes and steps do not fit together", "the model is invalid")
    ranges = [range(e) for e in t.shape]
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        extent = t.shape[axis]
        # As in Python, except that a backward slice from before the first element still has that one, and that in
        # onnxruntime the largest integers as its end mean that it reaches the first element.
        stop = None if step < 0 and end in _TO_THE_FIRST else end
        ranges[axis] = range(extent)[max(start, -extent) : stop : step]
    shape = tuple(len(r) for r in ranges)

    def index(position: Expr, r: range) -> Expr:
        return shifted(scaled(position, r.step), r.start)

    return compute(call.name, shape, (t,), lambda *at: t.read([index(p, r) for p, r in zip(at, ranges, strict=True)]))


def _trilu(call: Call) -> Tensor:
    """The upper (default) or lower triangle of the last two dimensions, moved right by k; zero elsewhere."""
    t = call.input(0)
    if t.rank < 2:
        raise call.unsupported(f"its input has rank {t.rank}, less than 2", "the model is invalid")
    k = diagonal_within((call.ints(1, "k") or (0,))[0], t.shape)
    upper = call.attribute("upper", 1)

    def body(*axes: Expr) -> Expr:
        distance = axes[-1] - axes[-2]
        return select(distance >= k if upper else distance <= k, t.read(axes), 0)

    return compute(call.name, t.shape, (t,), body)


OPERATORS = {
    "Slice": _slice,
    "Trilu": _trilu,
}
