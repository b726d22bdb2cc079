"""Results whose size is known at run time only: as many elements as the data have of a kind.

Such a size is a scalar that a run measures; the size of the input is its capacity.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...dtypes import BOOL, I32, I64
from ...ir.construct import maximum, minimum, select
from ...ir.nodes import Const, Expr, Scalar
from ...ir.sizes import Size, capacity, known_less, larger, least, number, product, shown, smaller, text_of
from ...ir.sort_key import sort_key
from ...tensor import Tensor, compute, reduce
from ...tensor.bound_elements import span_of
from ...tensor.computed_sizes import computed_size
from ...tensor.structure import loop
from ..axes import one_axis
from ..call import Call
from ..movement.gather import to_int32
from ..reductions.running import running
from ..unravel import unravel, unravel_within
from .keys import Keys, within
from .ordering import MOST_SORTED, first_in_order, sorted_order
from .places import chosen, count_of, places


def _nonzero(call: Call) -> Tensor:
    """The indices of elements that are not zero, one row for each dimension; of a scalar those of a vector of one."""
    t = call.input(0)
    shape = t.shape or (1,)
    whole = t.shape
    least_of, most_of = (0, 0) if t.dtype.is_float else span_of(t)
    if least_of > 0 or most_of < 0:  # each one, as exporters write a range of a size that varies
        return _all_indices(call.name, shape)

    def is_there(i: Expr) -> Expr:
        at = unravel(i, shape)
        return t.read(at if whole else ()).cast(BOOL)

    mask = compute(f"{call.name}.mask", (product(shape),), (t,), is_there)
    count, positions = chosen(call.name, mask)
    rows = (len(shape), count)
    return compute(call.name, rows, (positions,), lambda d, k: _index_along(d, unravel(positions.read((k,)), shape)))


def _all_indices(name: str, shape: Sequence[Size]) -> Tensor:
    """The indices of all elements of `shape`, one row for each dimension: int64."""
    whole = (len(shape), product(shape))
    return compute(name, whole, (), lambda d, k: _index_along(d, unravel(k, shape)))


def _index_along(d: Expr, indices: Sequence[Expr]) -> Expr:
    """The one of the indices that is dimension d's, as int64."""
    result = indices[-1]
    for axis in reversed(range(len(indices) - 1)):
        result = select(d.eq(axis), indices[axis], result)
    return result.cast(I64)


def _compress(call: Call) -> Tensor:
    """The slices along `axis`, or elements without one, of which the condition is true; it may be shorter."""
    t, condition = call.input(0), call.input(1, (None,))
    flat = "axis" not in call.attributes
    axis = 0 if flat else one_axis(call, call.attribute("axis", 0), t.rank)
    extent = product(t.shape) if flat else t.shape[axis]
    if known_less(extent, condition.shape[0]):
        raise call.unsupported(
            f"its condition of shape {shown(condition.shape)} is longer than {text_of(extent)}", "the model is invalid"
        )
    count, positions = chosen(call.name, condition)
    if flat:
        return compute(
            call.name,
            (count,),
            (t, positions),
            lambda k: t.read(unravel_within(within(positions.read((k,)), extent), t.shape)),
        )
    shape = (*t.shape[:axis], count, *t.shape[axis + 1 :])

    def body(*at: Expr) -> Expr:
        place = within(positions.read((at[axis],)), extent)
        return t.read((*at[:axis], place, *at[axis + 1 :]))

    return compute(call.name, shape, (t, positions), body)


def _check_sortable(call: Call, n: Size) -> None:
    """Raises UnsupportedError for more elements than the network of the sort has int32 indices for."""
    if capacity(n) > MOST_SORTED:
        raise call.unsupported(f"it sorts {text_of(n)} elements, more than {MOST_SORTED}", "give it a smaller shape")


def _top_k(call: Call) -> tuple[Tensor, Tensor]:
    """The `k` largest or smallest elements along an axis, in order, and their indices; of equal ones the first. NaN is
    larger than all others."""
    t = call.input(0)
    axis = one_axis(call, call.attribute("axis", -1), t.rank)
    n = t.shape[axis]
    _check_sortable(call, n)
    count = _how_many(call, axis, n)
    lines = (*t.shape[:axis], *t.shape[axis + 1 :])

    def of(line: Sequence[Expr], i: Expr) -> Expr:
        return t.read((*line[:axis], i, *line[axis:]))

    keys = Keys(lines, n, lambda line, i: sort_key(of(line, i)), (t,), largest=call.attribute("largest", 1) == 1)
    order = first_in_order(call.name, keys, count)

    def index(*at: Expr) -> Expr:
        return within(order.at((*at[:axis], *at[axis + 1 :]), at[axis]), n)

    shape = (*t.shape[:axis], count, *t.shape[axis + 1 :])
    indices = compute(f"{call.name}.indices", shape, (order.rows,), lambda *at: index(*at).cast(I64))
    values = compute(call.name, shape, (t, order.rows), lambda *at: of((*at[:axis], *at[axis + 1 :]), index(*at)))
    return values, indices


def _how_many(call: Call, axis: int, n: Size) -> Size:
    """k: an attribute before opset 10. One that is computed at run time is at most the extent of the axis."""
    k: Size
    if call.opset < 10:
        k = call.attribute("k", -1)
    else:
        sizes = call.known_sizes(1)
        if sizes is None:
            count = _bounded(call, 1, n, "k")
            k_input = call.input(1)
            low, high = span_of(k_input)
            if low < 0 or high > least(n):
                k = k_input.read((Const(0),) * k_input.rank)
                reason = f"this run computes a k that is not within 0 to {text_of(n)}"
                call.refuse_where((k < 0) | (k > number(n, k.dtype)), (k_input,), reason)
            return count
        if len(sizes) != 1:
            raise call.unsupported(f"k has {len(sizes)} elements, not one", "the model is invalid")
        k = sizes[0]
    call.require_at_least(n, k, f"axis {axis} of extent {text_of(n)} is shorter than its k, {text_of(k)}")
    call.require_at_least(k, 0, f"its k, {text_of(k)}, is negative")
    return smaller(k, n)


def unique(call: Call) -> tuple[Tensor, ...]:
    """The distinct elements, or slices along `axis`: with the index of the first of each, for each of the input its
    place among them, and how many there are of each. In rising order, or in that of the input. NaN equals NaN."""
    t = call.input(0)
    if "axis" in call.attributes:
        return _unique_slices(call, t, one_axis(call, call.attribute("axis", 0), t.rank))
    n = product(t.shape)
    groups = _Groups(
        call, n, Keys((), n, lambda _, i: sort_key(t.read(unravel_within(i, t.shape))), (t,), largest=False)
    )
    values = compute(
        call.name,
        (groups.count,),
        (t, groups.firsts),
        lambda k: t.read(unravel_within(within(groups.firsts.read((k,)), n), t.shape)),
    )
    return (values, *groups.others())


def _unique_slices(call: Call, t: Tensor, axis: int) -> tuple[Tensor, ...]:
    n = t.shape[axis]
    others = (*t.shape[:axis], *t.shape[axis + 1 :])
    length = product(others)

    def element(i: Expr, j: Expr) -> Expr:
        at = unravel_within(j, others)
        return sort_key(t.read((*at[:axis], i, *at[axis:])))

    # Slices are compared by the first element in which they differ; then each has the number of those before it.
    differ = compute(
        f"{call.name}.differ",
        (n, n),
        (t,),
        lambda a, b: reduce("min", (length,), lambda j: select(element(a, j).ne(element(b, j)), j, capacity(length))),
    )

    def is_less(a: Expr, b: Expr) -> Expr:
        j = differ.read((a, b))
        return (j < length) & (element(a, within(j, length)) < element(b, within(j, length)))

    rank = compute(
        f"{call.name}.rank", (n,), (t, differ), lambda a: reduce("sum", (n,), lambda b: is_less(b, a).cast(I32))
    )
    groups = _Groups(call, n, Keys((), n, lambda _, i: rank.read((i,)), (rank,), largest=False))
    shape = (*t.shape[:axis], groups.count, *t.shape[axis + 1 :])
    firsts = groups.firsts

    def body(*at: Expr) -> Expr:
        return t.read((*at[:axis], within(firsts.read((at[axis],)), n), *at[axis + 1 :]))

    return (compute(call.name, shape, (t, firsts), body), *groups.others())


class _Groups:
    """Elements with equal keys. `firsts` are the indices of the first of each, in the order of the results; `place` is
    for each element that of its group."""

    def __init__(self, call: Call, n: Size, keys: Keys) -> None:
        _check_sortable(call, n)
        self._call, self._n = call, n
        name = call.name
        order = sorted_order(f"{name}.sort", keys).rows

        def begins(i: Expr) -> Expr:
            here, before = order.read((i,)), order.read((maximum(i - 1, 0),))
            return (i.eq(0) | keys.of((), within(here, n)).ne(keys.of((), within(before, n)))).cast(I32)

        marks = compute(f"{name}.begins", (n,), (order, *keys.reads), begins)
        sums = running(f"{name}.groups", "sum", marks, 0)
        count = count_of(name, sums)
        starts = places(f"{name}.starts", sums, count)
        firsts = compute(
            f"{name}.firsts",
            (count,),
            (order, starts),
            lambda k: within(order.read((within(starts.read((k,)), n),)), n),
        )
        # Where each element stands in order: the order of the order.
        back = sorted_order(f"{name}.back", Keys((), n, lambda _, i: order.read((i,)), (order,), largest=False)).rows
        place = compute(f"{name}.place", (n,), (sums, back), lambda i: sums.read((within(back.read((i,)), n),)) - 1)
        ends = compute(
            f"{name}.ends",
            (count,),
            (starts,),
            lambda k: select(k + 1 < count, starts.read((within(k + 1, count),)), n) - starts.read((k,)),
        )
        self.count, self.firsts, self.place, self._counts = count, firsts, place, ends
        if not call.flag("sorted", 1):
            self._by_appearance()

    def _by_appearance(self) -> None:
        """Groups in the order of their first elements."""
        name, n, firsts, place = self._call.name, self._n, self.firsts, self.place
        is_first = compute(
            f"{name}.appears",
            (n,),
            (place, firsts),
            lambda i: firsts.read((within(place.read((i,)), self.count),)).eq(i).cast(I32),
        )
        sums = running(f"{name}.appeared", "sum", is_first, 0)
        appears = places(f"{name}.appearing", sums, self.count)

        def first_of(i: Expr) -> Expr:
            return within(firsts.read((within(place.read((i,)), self.count),)), n)

        counts = self._counts
        self._counts = compute(
            f"{name}.counts",
            (self.count,),
            (appears, place, counts),
            lambda k: counts.read((within(place.read((within(appears.read((k,)), n),)), self.count),)),
        )
        self.place = compute(f"{name}.order", (n,), (place, firsts, sums), lambda i: sums.read((first_of(i),)) - 1)
        self.firsts = appears

    def others(self) -> tuple[Tensor, ...]:
        """The other results."""
        name = self._call.name
        return tuple(
            compute(f"{name}.{what}", t.shape, (t,), lambda i, t=t: t.read((i,)).cast(I64))
            for what, t in (("indices", self.firsts), ("inverse", self.place), ("counts", self._counts))
        )


def _non_max_suppression(call: Call) -> Tensor:
    """The best boxes of each batch and class, best first, without those that overlap a better one by more than a share
    of their union: rows (batch, class, box)."""
    boxes, scores = call.input(0, (None, None, 4)), call.input(1, (None, None, None))
    batches, classes, n = scores.shape
    lines = (batches, classes)
    most = _most_boxes(call, n)
    overlap, least = (None if t is None else _single(call, t) for t in (call.optional(3), call.optional(4)))
    centered = call.attribute("center_point_box", 0) == 1

    def number_of(t: Tensor | None) -> Expr | None:
        return None if t is None else t.read((Const(0),) * t.rank)

    def corners(batch: Expr, i: Expr) -> tuple[Expr, Expr, Expr, Expr]:
        """y and x of the near corner, then of the far one."""
        a, b, c, d = (boxes.read((batch, i, Const(k))) for k in range(4))
        if centered:
            return b - d / 2.0, a - c / 2.0, b + d / 2.0, a + c / 2.0
        return minimum(a, c), minimum(b, d), maximum(a, c), maximum(b, d)

    def shared(batch: Expr, i: Expr, j: Expr) -> Expr:
        """Whether two boxes overlap too much."""
        (top, left, bottom, right), (top2, left2, bottom2, right2) = corners(batch, i), corners(batch, j)
        height = maximum(minimum(bottom, bottom2) - maximum(top, top2), 0.0)
        width = maximum(minimum(right, right2) - maximum(left, left2), 0.0)
        common = height * width
        area, area2 = (bottom - top) * (right - left), (bottom2 - top2) * (right2 - left2)
        limit = number_of(overlap)
        share = common / (area + area2 - common)
        return (area > 0.0) & (area2 > 0.0) & (share > (0.0 if limit is None else limit))

    def good(b: Expr, c: Expr, i: Expr) -> Expr:
        limit = number_of(least)
        score = scores.read((b, c, i))
        return score.eq(score) if limit is None else limit < score

    alive = compute(f"{call.name}.alive", scores.shape, (scores, least), lambda b, c, i: good(b, c, i).cast(I32))
    name, operands = call.name, (boxes, scores, overlap)

    def pick(_turn: Scalar, carried: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        left, _, turns = carried

        def score(b: Expr, c: Expr) -> Expr:
            return reduce(
                "max", (n,), lambda i: select(left.read((b, c, i)).ne(0), scores.read((b, c, i)), float("-inf"))
            )

        best = compute(f"{name}.score", lines, (left, scores), score)

        def index(b: Expr, c: Expr) -> Expr:
            return reduce(
                "min",
                (n,),
                lambda i: select(
                    left.read((b, c, i)).ne(0) & scores.read((b, c, i)).eq(best.read((b, c))), i, capacity(n)
                ),
            )

        box_index = compute(f"{name}.box", lines, (left, scores, best), index)

        def stays(b: Expr, c: Expr, i: Expr) -> Expr:
            box = box_index.read((b, c))
            gone = (box < n) & (i.eq(box) | shared(b, within(box, n), i))
            return select(gone, 0, left.read((b, c, i)))

        remaining = compute(f"{name}.left", scores.shape, (left, box_index, *operands), stays)
        any_left = compute(
            f"{name}.any",
            (),
            (remaining,),
            lambda: reduce("max", (batches, classes, n), lambda *at: remaining.read(at)),
        )
        going = compute(f"{name}.going", (), (any_left,), lambda: any_left.read(()).ne(0))
        return [remaining, going, compute(f"{name}.turn", (), (turns,), lambda: turns.read(()) + 1)], [box_index]

    start = compute(f"{name}.start", (), (), lambda: Const(0).eq(0))
    none = compute(f"{name}.none", (), (), lambda: Const(0))
    (*_, turns), (rows,) = loop(name, most, [alive, start, none], pick, condition=1)

    def row(b: Expr, c: Expr, t: Expr) -> Expr:
        return rows.read((within(t, most), within(b, batches), within(c, classes)))

    def is_there(k: Expr) -> Expr:
        b, c, t = unravel(k, (batches, classes, most))
        return (t < turns.read(())) & (row(b, c, t) < n)

    mask = compute(f"{name}.mask", (product((batches, classes, most)),), (rows, turns), is_there)
    count, places_of = chosen(f"{name}.chosen", mask)

    def body(k: Expr, d: Expr) -> Expr:
        b, c, t = unravel(places_of.read((k,)), (batches, classes, most))
        return select(d.eq(0), b, select(d.eq(1), c, row(b, c, t))).cast(I64)

    return compute(name, (count, 3), (places_of, rows), body)


def _most_boxes(call: Call, n: Size) -> Size:
    """At most so many of each class: none by default."""
    most_input = call.optional(2)
    if most_input is None:
        return 0
    _single(call, most_input)
    sizes = call.known_sizes(2)
    return _bounded(call, 2, n, "most") if sizes is None else larger(smaller(sizes[0], n), 0)


def _bounded(call: Call, index: int, n: Size, what: str) -> Scalar:
    """The only element of an input as a size, from 0 to `n`: what a run is given, or computes."""
    element = _single(call, call.input(index))
    bounded = compute(
        f"{call.name}.{what}",
        (1,),
        (element,),
        lambda _: minimum(maximum(to_int32(element.read((Const(0),) * element.rank)), 0), n),
    )
    return computed_size(f"{call.name}.{what}", capacity(n) + 1, bounded)


def _single(call: Call, t: Tensor) -> Tensor:
    """An input of one element. Raises UnsupportedError for another."""
    if product(t.shape) != 1:
        raise call.unsupported(f"{t.name!r} has shape {shown(t.shape)}, not one element", "the model is invalid")
    return t


OPERATORS = {
    "Compress": _compress,
    "NonMaxSuppression": _non_max_suppression,
    "NonZero": _nonzero,
    "TopK": _top_k,
    "Unique": unique,
}
