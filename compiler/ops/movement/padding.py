"""Pad, in all its modes, and CenterCropPad."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...ir.construct import all_of, maximum, minimum
from ...ir.nodes import Const, Expr
from ...ir.sizes import Size, divided, equal, known_at_least, known_less, larger, number, shown, size
from ...tensor import Tensor, compute
from ..axes import many_axes
from ..broadcast import scalar_element
from ..call import Call


def _pad(call: Call) -> Tensor:
    """Pads are an attribute before opset 11 and an input since, then for the given axes only (opset 18); negative ones
    crop, before anything is added. As in NumPy, to which ONNX refers, and its reference, pads may be longer than what
    they repeat, which onnxruntime refuses for mode reflect."""
    t, mode = call.input(0), call.attribute("mode", "constant")
    if mode not in ("constant", "reflect", "edge", "wrap"):
        raise call.unsupported(f"attribute mode={mode!r} is unknown", "use constant, reflect, edge or wrap")
    before, after = _pads(call, t)
    return _padded(call, t, before, after, mode, lambda: _pad_value(call))


def _padded(
    call: Call,
    t: Tensor,
    before: Sequence[Size],
    after: Sequence[Size],
    mode: str = "constant",
    pad_value: Callable[[], Expr | None] = lambda: None,
) -> Tensor:
    """`t` with so many more elements, or fewer, at the ends of each axis; None is a `pad_value` of 0."""
    offsets = [larger(0, -b) for b in before]
    extents = [size(e - o - larger(0, -a)) for e, o, a in zip(t.shape, offsets, after, strict=True)]
    shape = tuple(size(e + b + a) for e, b, a in zip(t.shape, before, after, strict=True))
    for d, n in enumerate(shape):
        if not isinstance(n, int):
            call.require_at_least(n, 0, f"it crops more than there is along axis {d} of {shown(t.shape)}")
    if mode != "constant":
        _check_repeated(call, f"mode {mode!r} has nothing to repeat in {shown(t.shape)}", extents, shape)

    def body(*axes: Expr) -> Expr:
        indices: list[Expr] = []
        conditions: list[Expr] = []
        for d, axis in enumerate(axes):
            b, a, extent, offset = larger(0, before[d]), larger(0, after[d]), extents[d], offsets[d]
            index = axis if _is_zero(b) else axis - b
            if mode != "constant":
                index = _repeated(mode, index, extent, b, a)
            elif not _is_zero(b):
                conditions.append(axis >= b)
            if mode == "constant" and not _is_zero(a):
                conditions.append(axis < b + extent)
            indices.append(index if _is_zero(offset) else index + offset)
        if not conditions:
            return t.read(indices)
        value = pad_value()
        return t.read(indices, all_of(*conditions), 0 if value is None else value)

    return compute(call.name, shape, call.inputs, body)


def _check_repeated(call: Call, reason: str, extents: Sequence[Size], shape: Sequence[Size]) -> None:
    """Refuses results along axes of which nothing is left to repeat. Raises UnsupportedError where that is so in each
    run."""
    for extent, whole in zip(extents, shape, strict=True):
        if equal(extent, whole) or known_at_least(extent, 1):
            continue
        if extent == 0 and known_at_least(whole, 1):
            raise call.unsupported(reason, "check the input shapes")
        call.refuse_where((number(extent) < 1) & (number(whole) > 0), (), f"{reason} in this run")


def _is_zero(n: Size) -> bool:
    return isinstance(n, int) and n == 0


def _repeated(mode: str, index: Expr, extent: Size, before: Size, after: Size) -> Expr:
    """The place in [0, extent) whose element stands at `index`, in [-before, extent + after). Of an extent that is
    known at run time only it may be any where there is no element."""
    if _is_zero(before) and _is_zero(after):
        return index
    last = size(extent - 1)
    if not isinstance(last, int) or not isinstance(before, int) or not isinstance(after, int):
        return maximum(minimum(_repeated_of_sizes(mode, index, extent, before, after), last), 0)
    match mode:
        case "edge":
            index = maximum(index, 0) if before else index
            return minimum(index, last) if after else index
        case "wrap":
            return index % extent
    if last == 0:
        return Const(0)
    if before > last or after > last:
        index = index % (2 * last)
        return minimum(index, 2 * last - index)
    index = maximum(index, -index) if before else index
    return minimum(index, 2 * last - index) if after else index


def _repeated_of_sizes(mode: str, index: Expr, extent: Size, before: Size, after: Size) -> Expr:
    """The index of the repeated element before it is kept in range: there is one period at least of what is repeated,
    and of a reflection just one where no more is ever added."""
    if mode == "edge":
        return index
    last = size(extent - 1)
    if mode == "reflect" and known_less(before, extent) and known_less(after, extent):
        index = maximum(index, -index)
        return minimum(index, 2 * last - index)
    period = larger(extent if mode == "wrap" else 2 * last, 1)
    index = index % period
    return index if mode == "wrap" else minimum(index, 2 * last - index)


def _pads(call: Call, t: Tensor) -> tuple[list[Size], list[Size]]:
    if call.opset < 11:
        pads: tuple[Size, ...] = call.attribute("pads", ())
        axes = tuple(range(t.rank))
    else:
        pads = call.sizes(1, "pads") or ()
        axes_input = call.ints(3, "axes")
        axes = many_axes(call, range(t.rank) if axes_input is None else axes_input, t.rank)
    if len(pads) != 2 * len(axes):
        raise call.unsupported(f"{len(pads)} pads are given for {len(axes)} axes", "the model is invalid")
    before, after = list[Size]([0] * t.rank), list[Size]([0] * t.rank)
    for i, axis in enumerate(axes):
        before[axis], after[axis] = pads[i], pads[i + len(axes)]
    return before, after


def _pad_value(call: Call) -> Expr | None:
    if call.opset < 11:
        return Const(call.attribute("value", 0.0), call.input(0).dtype)
    return scalar_element(call, 2, "constant_value")


def _center_crop_pad(call: Call) -> Tensor:
    """The middle of the axes, as long as `shape` says, zeros around; an odd element is cut off, or zero, at the end."""
    t = call.input(0)
    counts = call.counts(1, "shape") or ()
    axes = many_axes(call, call.attribute("axes", tuple(range(t.rank))), t.rank)
    if len(counts) != len(axes) or any(isinstance(n, int) and n < 0 for n in counts):
        raise call.unsupported(f"shape {shown(counts)} does not fit {len(axes)} axes", "the model is invalid")
    before, after = list[Size]([0] * t.rank), list[Size]([0] * t.rank)
    for axis, n in zip(axes, counts, strict=True):
        extent = t.shape[axis]
        missing, spare = larger(size(number(n) - extent), 0), larger(size(number(extent) - n), 0)
        before[axis] = size(number(divided(missing, 2)) - divided(spare, 2))
        after[axis] = size(number(n) - extent - before[axis])
    return _padded(call, t, before, after)


OPERATORS = {"CenterCropPad": _center_crop_pad, "Pad": _pad}
