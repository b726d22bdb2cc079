"""Elements replaced, or combined with updates, at the places that a tensor of indices names.

Each element of the result looks for the updates meant for it. Where the indices are known at compile time, so is the
answer; otherwise every element searches, which takes time in proportion to elements times updates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from ...ir.construct import all_of, maximum, maximum_nan, minimum, minimum_nan, select
from ...ir.nodes import Expr, expr
from ...ir.reduction import COMBINE as OPERATOR_OF
from ...ir.reduction import neutral
from ...ir.sizes import Size, equal, known_less, least, number, shown
from ...tensor import Tensor, compute, constant, reduce
from ..axes import one_axis
from ..broadcast import pointwise
from ..call import Call
from ..unravel import ravel, unravel_within
from .gather import require_in_range, to_int32

COMBINE: dict[str, tuple[str, Callable[[Expr, Expr], Expr]]] = {
    "add": ("sum", lambda a, b: a + b),
    "mul": ("prod", lambda a, b: a * b),
    "max": ("max_nan", maximum_nan),
    "min": ("min_nan", minimum_nan),
}


def _scatter_elements(call: Call) -> Tensor:
    """updates[p] goes to p with its coordinate along `axis` replaced by indices[p]."""
    data, indices, updates = call.input(0), call.input(1), call.input(2)
    axis = one_axis(call, call.attribute("axis", 0), data.rank)
    if (
        not _alike(indices.shape, updates.shape)
        or indices.rank != data.rank
        or any(known_less(e, i) for d, (i, e) in enumerate(zip(indices.shape, data.shape, strict=True)) if d != axis)
    ):
        raise _misfit(call, data, indices, updates)

    def inside(at: Sequence[Expr]) -> Expr:
        shorter = (d for d, e in enumerate(indices.shape) if d != axis and not equal(e, data.shape[d]))
        return all_of(*(at[d] < indices.shape[d] for d in shorter))

    def along(at: Sequence[Expr], place: Expr) -> list[Expr]:
        return [place if d == axis else i for d, i in enumerate(at)]

    def meant(at: Sequence[Expr], place: Sequence[Expr]) -> Expr:
        index = _from_front(to_int32(indices.read(along(at, place[0]), inside(at))), data.shape[axis])
        return inside(at) & index.eq(at[axis])

    last_places = None
    if indices.data is not None and not data.is_dynamic:
        grid: list[np.ndarray] = [*np.indices(indices.extents)]
        places = grid[axis]
        grid[axis] = indices.data
        last_places = _last_places(call, data, data.extents, grid, places)
    elif indices.data is not None:
        require_in_range(call, indices.data, data, axis)
    return _scatter(
        call,
        data.rank,
        indices.shape[axis : axis + 1],
        last_places,
        meant,
        lambda at, place: along(at, place[0]),
        inside,
    )


def _scatter_nd(call: Call) -> Tensor:
    """updates[p, ...] goes to data[indices[p], ...], where indices[p] is a whole index into the first dimensions."""
    data, indices, updates = call.input(0), call.input(1), call.input(2)
    depth = call.fixed(indices, (-1,))[0] if indices.rank else 0
    outer = indices.shape[:-1]
    if not 0 < depth <= data.rank or not _alike(updates.shape, (*outer, *data.shape[depth:])):
        raise _misfit(call, data, indices, updates)

    def meant(at: Sequence[Expr], place: Sequence[Expr]) -> Expr:
        return all_of(
            *(_from_front(to_int32(indices.read([*place, expr(d)])), data.shape[d]).eq(at[d]) for d in range(depth))
        )

    last_places = None
    if indices.data is not None and not data.is_dynamic:
        columns = [indices.data[..., d] for d in range(depth)]
        places = np.arange(prod(indices.extents[:-1])).reshape(indices.extents[:-1])
        last_places = _last_places(call, data, data.extents[:depth], columns, places)
    elif indices.data is not None:
        for d in range(depth):
            require_in_range(call, indices.data[..., d], data, d)
    return _scatter(
        call, depth, outer, last_places, meant, lambda at, place: [*place, *at[depth:]], lambda at: all_of()
    )


def _tensor_scatter(call: Call) -> Tensor:
    """update[b, ..., s, ...] goes to position write_indices[b] + s along `axis` of batch b, which starts again from 0
    at the end in mode "circular": a cache that is written on from where it ended."""
    cache, update, starts = call.input(0), call.input(1), call.optional(2, call.input(0).shape[:1])
    axis = one_axis(call, call.attribute("axis", -2), cache.rank)
    mode = call.attribute("mode", "linear")
    rest = [d for d in range(cache.rank) if d != axis]
    if axis == 0 or mode not in ("linear", "circular") or update.rank != cache.rank:
        raise call.unsupported(f"axis {axis}, mode {mode!r} and rank {update.rank} do not fit", "the model is invalid")
    if not _alike([cache.shape[d] for d in rest], [update.shape[d] for d in rest]):
        raise call.unsupported(
            f"a cache of shape {shown(cache.shape)} and an update of {shown(update.shape)} differ in more than axis "
            f"{axis}",
            "check the input shapes",
        )

    def start(batch: Expr) -> Expr:
        return expr(0) if starts is None else to_int32(starts.read((batch,)))

    reads = () if starts is None else (starts,)
    return overwritten(call.name, cache, update, axis, start, reads, circular=mode == "circular")


def overwritten(
    name: str,
    cache: Tensor,
    update: Tensor,
    axis: int,
    start: Callable[[Expr], Expr],
    reads: Sequence[Tensor],
    *,
    circular: bool = False,
) -> Tensor:
    """`cache` with `update` from position `start(batch)` along `axis` on, which is computed from `reads`. One that is
    out of range means the nearest end; a `circular` update starts again at the first position."""
    length, count = cache.shape[axis], update.shape[axis]

    def body(*at: Expr) -> Expr:
        place = at[axis] - minimum(maximum(start(at[0]), 0), length)
        if circular:
            place = select(place < 0, place + length, place)
        inside = minimum(maximum(place, 0), number(count) - 1)
        written = (place >= 0) & (place < count)
        if not least(count):
            inside = maximum(inside, 0)
        return select(written, update.read([inside if d == axis else i for d, i in enumerate(at)]), cache.read(at))

    return compute(name, cache.shape, (cache, update, *reads), body)


def _scatter(
    call: Call,
    depth: int,
    extents: tuple[Size, ...],
    last_places: Tensor | None,
    meant: Callable[[Sequence[Expr], Sequence[Expr]], Expr],
    source: Callable[[Sequence[Expr], Sequence[Expr]], list[Expr]],
    inside: Callable[[Sequence[Expr]], Expr],
) -> Tensor:
    """`meant(at, place)`: whether the update at `place` (an index into `extents`) is for the element `at`, of which
    only the first `depth` coordinates matter; `source`: where it stands in updates, if `inside(at)`; `last_places`: the
    last such place for each element, as a linear index, -1 for none."""
    data, indices, updates = call.input(0), call.input(1), call.input(2)
    reduction = call.attribute("reduction", "none")
    if 0 in extents:
        return pointwise(call, lambda x: x, data)
    if reduction == "none":
        last = last_places or compute(
            f"{call.name}.last",
            data.shape[:depth],
            (indices,),
            lambda *at: reduce("max", extents, lambda *r: select(meant(at, r), ravel(r, extents), -1), -1),
        )

        def replaced(*at: Expr) -> Expr:
            place = last.read(at[:depth])
            update = updates.read(source(at, unravel_within(maximum(place, 0), extents)), (place >= 0) & inside(at))
            return select(place >= 0, update, data.read(at))

        return compute(call.name, data.shape, (data, updates, last), replaced)
    if reduction not in COMBINE:
        raise call.unsupported(f"attribute reduction={reduction!r} is unknown", "use none, add, mul, max or min")
    op, combine = COMBINE[reduction]
    nothing = neutral(OPERATOR_OF[op], data.dtype)
    total = compute(
        f"{call.name}.updates",
        data.shape,
        (indices, updates),
        lambda *at: reduce(
            op, extents, lambda *r: select(meant(at, r), updates.read(source(at, r), inside(at)), nothing)
        ),
    )
    return compute(call.name, data.shape, (data, total), lambda *at: combine(data.read(at), total.read(at)))


def _last_places(
    call: Call, data: Tensor, shape: tuple[int, ...], index: Sequence[np.ndarray], places: np.ndarray
) -> Tensor:
    """For each element of `shape` the last of `places` whose `index` is that element, -1 for none: int32."""
    for column, extent in zip(index, shape, strict=True):
        if column.size and (column.min() < -extent or column.max() >= extent):
            raise call.unsupported(f"an index is out of range in shape {shown(data.shape)}", "the model is invalid")
    result = np.full(shape, -1, np.int32)
    result[tuple(np.asarray(c) for c in index)] = places
    return constant(f"{call.name}.last", result)


def _alike(a: Sequence[Size], b: Sequence[Size]) -> bool:
    return len(a) == len(b) and all(equal(x, y) for x, y in zip(a, b, strict=True))


def _from_front(index: Expr, extent: Size) -> Expr:
    return select(index < 0, index + extent, index)


def _misfit(call: Call, *tensors: Tensor) -> Exception:
    listed = ", ".join(shown(t.shape) for t in tensors)
    return call.unsupported(f"data, indices and updates of shapes {listed} do not fit", "check the input shapes")


OPERATORS = {
    "Scatter": _scatter_elements,
    "ScatterElements": _scatter_elements,
    "ScatterND": _scatter_nd,
    "TensorScatter": _tensor_scatter,
}
