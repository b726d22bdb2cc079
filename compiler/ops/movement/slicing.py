"""Slices and triangles of a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...ir.construct import maximum, minimum, select
from ...ir.nodes import Const, Expr, ExprLike, Scalar
from ...ir.simplify import simplify_expr
from ...ir.sizes import Size, capacity, ceiling, larger, number, size, smaller
from ...tensor import Tensor, compute
from ...tensor.computed_sizes import computed_size
from ..axes import diagonal_within, many_axes
from ..call import Call
from ..window import scaled, shifted
from .gather import to_int32

_TO_THE_FIRST = (2**31 - 1, 2**63 - 1)


def _slice(call: Call) -> Tensor:
    """starts, ends and axes are attributes before opset 10, and inputs since, with steps."""
    t = call.input(0)
    starts: tuple[Size, ...]
    ends: tuple[Size, ...]
    axes: tuple[int, ...] | None
    if call.opset < 10:
        starts, ends = call.attribute("starts", ()), call.attribute("ends", ())
        axes = call.attribute("axes", ()) or None
        steps = None
    else:
        axes, steps = call.ints(3, "axes"), call.ints(4, "steps")
        if call.known_sizes(1) is None or call.known_sizes(2) is None:
            return _sliced(call, t, _parts_of_run(call, t, axes, steps))
        starts, ends = call.sizes(1, "starts") or (), call.sizes(2, "ends") or ()
    axes = many_axes(call, tuple(range(len(starts))) if axes is None else axes, t.rank)
    steps = (1,) * len(starts) if steps is None else steps
    _check_counts(call, len(starts), len(ends), axes, steps)
    parts = [Part(0, 1, e) for e in t.shape]
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        parts[axis] = _part(t.shape[axis], start, end, _within(step, t.shape[axis]))
    return _sliced(call, t, parts)


def _check_counts(call: Call, starts: int, ends: int, axes: Sequence[int], steps: Sequence[int]) -> None:
    if not starts == ends == len(axes) == len(steps) or 0 in steps:
        raise call.unsupported("starts, ends, axes and steps do not fit together", "the model is invalid")


def _sliced(call: Call, t: Tensor, parts: Sequence[Part]) -> Tensor:
    def index(position: Expr, part: Part) -> Expr:
        at = scaled(position, part.step)
        return shifted(at, part.start) if isinstance(part.start, int) else simplify_expr(at + part.start)

    return compute(
        call.name,
        tuple(p.count for p in parts),
        (t,),
        lambda *at: t.read([index(i, p) for i, p in zip(at, parts, strict=True)]),
    )


@dataclass(frozen=True, slots=True)
class Part:
    """A slice of a dimension: `count` elements from `start` on, `step` apart."""

    start: Size
    step: int
    count: Size


def _within(step: int, extent: Size) -> int:
    """`step`, or as many elements as there are: both take one at most, but that is an int32."""
    room = max(capacity(extent), 1)
    return max(-room, min(step, room))


def _part(extent: Size, start: Size, end: Size, step: int) -> Part:
    """As in Python, except that a backward slice from before the first element still has that one, and that in
    onnxruntime the largest integers as its end mean that it reaches the first element."""
    to_the_first = step < 0 and end in _TO_THE_FIRST
    if isinstance(extent, int) and isinstance(start, int) and isinstance(end, int):
        r = range(extent)[max(start, -extent) : None if to_the_first else end : step]
        return Part(r.start, r.step, len(r))
    first = larger(_from_front(start, extent), 0)
    if to_the_first:
        behind: Size = -1
    else:
        behind = smaller(larger(_from_front(end, extent), 0 if step > 0 else -1), extent)
    within = smaller(first, extent if step > 0 else extent - 1)
    if step > 0 and isinstance(first, int):
        # From beyond the end on there is no element, wherever the slice begins: N - min(1, N) is max(N - 1, 0).
        return replace(_between(first, behind, step), start=within)
    return _between(within, behind, step)


def _between(first: Size, behind: Size, step: int) -> Part:
    distance = behind - first if step > 0 else first - behind
    return Part(size(first), step, larger(ceiling(size(distance), abs(step)), 0))


def _parts_of_run(call: Call, t: Tensor, axes: Sequence[int] | None, steps: Sequence[int] | None) -> list[Part]:
    """Parts whose starts and ends a run computes: as sizes, which are at most the extents."""
    starts, ends = call.input(1), call.input(2)
    counts = call.fixed(starts, (0,) if starts.rank else ()), call.fixed(ends, (0,) if ends.rank else ())
    count = counts[0][0] if starts.rank else 1
    axes = many_axes(call, tuple(range(count)) if axes is None else axes, t.rank)
    steps = (1,) * count if steps is None else steps
    _check_counts(call, count, counts[1][0] if ends.rank else 1, axes, steps)
    parts = [Part(0, 1, e) for e in t.shape]
    for i, (axis, step) in enumerate(zip(axes, steps, strict=True)):
        step = _within(step, t.shape[axis])
        parts[axis] = _part_of_run(f"{call.name}.{i}", (starts, ends), i, t.shape[axis], step)
    return parts


def _part_of_run(name: str, bounds: tuple[Tensor, Tensor], i: int, extent: Size, step: int) -> Part:
    """The part between elements i of the two `bounds`, whose start and count are computed at run time. The start is
    clamped so that the last element, too, is provably within the axis; that changes no start of a part with
    elements."""
    apart, room = abs(step), capacity(extent)

    def place(positions: Tensor) -> Expr:
        position = to_int32(positions.read((Const(i),) * positions.rank))
        index = select(position < 0, position + extent, position)
        if step < 0 and positions is bounds[1]:
            index = select(position.eq(_TO_THE_FIRST[0]), -1, index)
        return index

    def start_of() -> Expr:
        return minimum(maximum(place(bounds[0]), 0), extent if step > 0 else number(extent) - 1)

    def count_of() -> Expr:
        first, end = start_of(), place(bounds[1])
        distance = minimum(end, extent) - first if step > 0 else first - maximum(end, -1)
        return maximum(distance + (apart - 1), 0) // apart

    def size_of(what: str, value: Expr, most: int) -> Scalar:
        source = compute(f"{name}.{what}", (1,), bounds, lambda _: value)
        return computed_size(f"{name}.{what}", most + 1, source)

    count = size_of("count", count_of(), -(-room // apart))
    start = size_of("start", maximum(start_of(), 0), room if step > 0 else max(room - 1, 0))
    last = size((count - 1) * apart)  # from the start on
    return Part(smaller(start, size(room - 1 - last)) if step > 0 else larger(start, last), step, count)


def _from_front(position: Size, extent: Size) -> Size:
    """A position that counts from the end where it is negative."""
    if isinstance(position, int):
        return position if position >= 0 else size(extent + position)
    return size(select(position < 0, position + extent, position))


def trilu(call: Call) -> Tensor:
    """The upper (default) or lower triangle of the last two dimensions, moved right by k; zero elsewhere."""
    t = call.input(0)
    if t.rank < 2:
        raise call.unsupported(f"its input has rank {t.rank}, less than 2", "the model is invalid")
    diagonal = call.optional(1)
    upper = call.attribute("upper", 1)

    def body(*axes: Expr) -> Expr:
        distance = axes[-1] - axes[-2]
        if diagonal is None or diagonal.data is not None:
            k: ExprLike = diagonal_within((call.ints(1, "k") or (0,))[0], t.shape)
        else:
            k = to_int32(diagonal.read((Const(0),) * diagonal.rank))
        return select(distance >= k if upper else distance <= k, t.read(axes), 0)

    return compute(call.name, t.shape, (t, diagonal), body)


OPERATORS = {
    "Slice": _slice,
    "Trilu": trilu,
}
