"""Pad, in all its modes."""

from __future__ import annotations

from ..ir.construct import all_of, maximum, minimum
from ..ir.nodes import Const, Expr
from ..ir.sizes import Size, larger, least, shown, size, text_of
from ..tensor import Tensor, compute
from .axes import many_axes
from .broadcast import scalar_element
from .call import Call


def _pad(call: Call) -> Tensor:
    """Pads are an attribute before opset 11 and an input since, then for the given axes only (opset 18); negative ones
    crop, before anything is added."""
    t, mode = call.input(0), call.attribute("mode", "constant")
    if mode not in ("constant", "reflect", "edge", "wrap"):
        raise call.unsupported(f"attribute mode={mode!r} is unknown", "use constant, reflect, edge or wrap")
    before, after = _pads(call, t)
    offsets = [max(0, -b) for b in before]
    extents = [size(e - o - larger(0, -a)) for e, o, a in zip(t.shape, offsets, after, strict=True)]
    shape = tuple(size(e + b + a) for e, b, a in zip(t.shape, before, after, strict=True))
    if mode != "constant" and any(e == 0 and s != 0 for e, s in zip(extents, shape, strict=True)):
        raise call.unsupported(f"mode {mode!r} has nothing to repeat in {shown(t.shape)}", "check the input shapes")

    def body(*axes: Expr) -> Expr:
        indices: list[Expr] = []
        conditions: list[Expr] = []
        for d, axis in enumerate(axes):
            b, a, extent = max(0, before[d]), larger(0, after[d]), extents[d]
            index = axis - b if b else axis
            if mode == "constant":
                conditions += [axis >= b] * (b > 0) + [axis < b + extent] * (a != 0)
            else:
                added = call.fixed_size(a, "of what is added")
                index = _repeated(mode, index, _repeatable(call, mode, extent, b, added), b, added)
            indices.append(index + offsets[d] if offsets[d] else index)
        if not conditions:
            return t.read(indices)
        value = _pad_value(call)
        return t.read(indices, all_of(*conditions), 0 if value is None else value)

    return compute(call.name, shape, call.inputs, body)


def _repeatable(call: Call, mode: str, extent: Size, before: int, after: int) -> Size:
    """`extent`. Raises UnsupportedError where it may be too short at run time for the elements that are added."""
    if not isinstance(extent, int) and mode != "edge" and (before or after) and least(extent) <= max(before, after):
        raise call.unsupported(
            f"mode {mode!r} adds {max(before, after)} elements to a dimension of {text_of(extent)}, which may "
            "be shorter at run time",
            "raise the least value of the size: --dim NAME=LEAST..MOST",
        )
    return extent


def _repeated(mode: str, index: Expr, extent: Size, before: int, after: int) -> Expr:
    """The place in [0, extent) whose element stands at `index`, in [-before, extent + after)."""
    if not before and not after:
        return index
    last = size(extent - 1)
    match mode:
        case "edge":
            index = maximum(index, 0) if before else index
            return minimum(index, last) if after else index
        case "wrap":
            return index % extent
    if last == 0:
        return Const(0)
    if isinstance(last, int) and (before > last or after > last):
        index = index % (2 * last)
        return minimum(index, 2 * last - index)
    index = maximum(index, -index) if before else index
    return minimum(index, 2 * last - index) if after else index


def _pads(call: Call, t: Tensor) -> tuple[list[int], list[Size]]:
    if call.opset < 11:
        pads: tuple[Size, ...] = call.attribute("pads", ())
        axes = tuple(range(t.rank))
    else:
        pads = call.sizes(1, "pads") or ()
        given = call.ints(3, "axes")
        axes = many_axes(call, range(t.rank) if given is None else given, t.rank)
    if len(pads) != 2 * len(axes):
        raise call.unsupported(f"{len(pads)} pads are given for {len(axes)} axes", "the model is invalid")
    before, after = [0] * t.rank, list[Size]([0] * t.rank)
    for i, axis in enumerate(axes):
        before[axis], after[axis] = call.fixed_size(pads[i], "of what is added"), pads[i + len(axes)]
    return before, after


def _pad_value(call: Call) -> Expr | None:
    if call.opset < 11:
        return Const(call.attribute("value", 0.0), call.input(0).dtype)
    return scalar_element(call, 2, "constant_value")


OPERATORS = {"Pad": _pad}
