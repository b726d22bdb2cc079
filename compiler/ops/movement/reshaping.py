"""Operators that keep the order of the elements and change the shape only."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from math import prod
from operator import add, or_

from ...dtypes import I32
from ...errors import BoundsError
from ...ir.construct import all_of, maximum, minimum, select
from ...ir.nodes import Const, Expr, expr
from ...ir.sizes import Size, divided, divides, equal, is_one, known_less, larger, number, product, shown, size
from ...tensor import Tensor, compute
from ...tensor.bound_elements import bounded_size
from ..axes import axes_argument, many_axes
from ..call import Call
from ..equal_sizes import advice_for
from ..unravel import ravel, unravel, unravel_within
from .gather import to_int32


def reshaped(name: str, t: Tensor, shape: Sequence[Size]) -> Tensor:
    """`t` in another shape of as many elements, in row-major order.

    Dimensions that only split, merge or stay are matched with each other, so that each keeps its own variables and
    only merged ones need division. Where sizes vary, an index may be one that no proof bounds: it is clamped, which
    changes nothing, since the number of an element is less than there are elements.
    """
    if 0 in shape:
        return compute(name, shape, (), lambda *_: expr(0, t.dtype))

    def body(*axes: Expr, clamped: bool = False) -> Expr:
        indices: list[Expr] = [Const(0)] * t.rank
        for olds, news in dimension_groups(t.shape, shape):
            linear = ravel([axes[d] for d in news], [shape[d] for d in news])
            for d, index in zip(olds, unravel(linear, [t.shape[d] for d in olds]), strict=True):
                indices[d] = _clamped(index, t.shape[d]) if clamped and len(olds) > 1 else index
        return t.read(indices)

    try:
        return compute(name, shape, (t,), body)
    except BoundsError:
        if all(isinstance(n, int) for n in (*t.shape, *shape)):
            raise
    return compute(name, shape, (t,), partial(body, clamped=True))


def _clamped(index: Expr, extent: Size) -> Expr:
    return maximum(minimum(index, larger(size(extent - 1), 0)), 0)


def dimension_groups(old: Sequence[Size], new: Sequence[Size]) -> list[tuple[list[int], list[int]]]:
    """The smallest runs of dimensions of `old` and of `new` with equal products, without those of extent 1.

    Both shapes have the same number of elements, not 0.
    """
    a = [d for d, extent in enumerate(old) if not is_one(extent)]
    b = [d for d, extent in enumerate(new) if not is_one(extent)]
    groups = []
    while a and b:
        olds, news = [a.pop(0)], [b.pop(0)]
        x, y = old[olds[0]], new[news[0]]
        while not equal(x, y):
            if a and (not b or _comes_first(x, y)):
                olds.append(a.pop(0))
                x = product((x, old[olds[-1]]))
            else:
                news.append(b.pop(0))
                y = product((y, new[news[-1]]))
        groups.append((olds, news))
    return groups


def _comes_first(x: Size, y: Size) -> bool:
    """Whether the dimensions of product `x` are to be continued, and not those of product `y`."""
    if isinstance(x, int) and isinstance(y, int):
        return x < y
    return divides(x, y) or (known_less(x, y) and not divides(y, x))


def _reshape(call: Call) -> Tensor:
    """A 0 in the shape copies the extent at that place (not with allowzero=1, opset 14); one -1 is computed."""
    t = call.input(0)
    sizes = call.sizes(1, "shape") or ()
    keep_zero = call.opset >= 14 and call.flag("allowzero", 0)
    if any(e == 0 and d >= t.rank and not keep_zero for d, e in enumerate(sizes)) or sizes.count(-1) > 1:
        raise _misfit(call, t, sizes)
    shape = [t.shape[d] if e == 0 and not keep_zero else e for d, e in enumerate(sizes)]
    whole = product(t.shape)
    if -1 in shape:
        others = product(e for e in shape if e != -1)
        shape[shape.index(-1)] = divided(whole, others) if others != 0 else 0
    if not equal(product(shape), whole) or any(isinstance(e, int) and e < 0 for e in shape):
        raise _misfit(call, t, sizes, product(shape))
    return reshaped(call.name, t, tuple(shape))


def _misfit(call: Call, t: Tensor, sizes: Sequence[Size], whole: Size | None = None) -> Exception:
    """The error for a tensor that does not become one of these sizes, which has `whole` elements."""
    if call.known_sizes(1) is None:
        return call.not_known(1, "shape")
    if not all(isinstance(n, int) for n in (*t.shape, *sizes)):
        advice = (
            "fix a size by --dim NAME=NUMBER, say by --dim NAME=LEAST..MOST,multiple=NUMBER what it is a multiple of, "
            "or check the input shapes (--shape)"
        )
        pairs = [] if whole is None else [(whole, product(t.shape))]
        reason = f"{shown(t.shape)} cannot become {shown(sizes)} in every run"
        return call.unsupported(reason, advice_for(pairs, advice))
    return call.unsupported(
        f"{shown(t.shape)} cannot become {shown(sizes)}", "check the input shapes (--shape), or export the model again"
    )


def _flatten(call: Call) -> Tensor:
    """To a matrix: dimensions before `axis` (default 1) and those from it on."""
    t, axis = call.input(0), call.attribute("axis", 1)
    if not -t.rank <= axis <= t.rank:
        raise call.unsupported(f"axis {axis} does not exist in a tensor of rank {t.rank}", "the model is invalid")
    split = axis if axis >= 0 else axis + t.rank
    return reshaped(call.name, t, (product(t.shape[:split]), product(t.shape[split:])))


def _squeeze(call: Call) -> Tensor:
    """Without axes (an attribute before opset 13), every dimension of extent 1 goes; no axes in a list of them are
    none given, as onnxruntime reads it."""
    t = call.input(0)
    if _is_of_run(call):
        return _without_axes(call, t)
    chosen = axes_argument(call, 1, since=13)
    axes = many_axes(call, chosen, t.rank) if chosen else [d for d, e in enumerate(t.shape) if is_one(e)]
    if not all(is_one(t.shape[d]) for d in axes):
        raise call.unsupported(
            f"axes {list(axes)} of {shown(t.shape)} are not all of extent 1", "check the input shapes"
        )
    return reshaped(call.name, t, tuple(e for d, e in enumerate(t.shape) if d not in axes))


def _unsqueeze(call: Call) -> Tensor:
    """The axes (an attribute before opset 13) are those of the result."""
    t = call.input(0)
    if _is_of_run(call):
        return _with_axes(call, t)
    chosen = axes_argument(call, 1, since=13) or ()
    rank = t.rank + len(chosen)
    axes = many_axes(call, chosen, rank)
    old = iter(t.shape)
    return reshaped(call.name, t, tuple(1 if d in axes else next(old) for d in range(rank)))


def _is_of_run(call: Call) -> bool:
    """Whether a run computes the axes: how many they are is known."""
    if call.opset < 13 or not call.has(1) or call.input(1).data is not None:
        return False
    axes = call.input(1)
    return axes.rank == 0 or isinstance(axes.shape[0], int)


def _values_of(axes: Tensor) -> list[Expr]:
    return [to_int32(axes.read((Const(i),) * axes.rank)) for i in range(prod(axes.extents))]


def _named(axes: Tensor, rank: int) -> list[Expr]:
    """Whether `axes`, which a run computes, name each of `rank` dimensions."""
    values = _values_of(axes)
    return [~all_of(*(v.ne(d) & v.ne(d - rank) for v in values)) for d in range(rank)]


def _misnamed(count: int, named: Sequence[Expr]) -> Expr:
    """Whether not `count` dimensions are `named`: some axes do not exist, or name the same dimension."""
    return reduce(add, (here.cast(I32) for here in named), expr(0)).ne(count)


def _with_axes(call: Call, t: Tensor) -> Tensor:
    """Unsqueeze along axes that a run computes: each dimension is 1, or one of the operand's by how many named ones
    are before it."""
    axes = call.input(1)
    rank = t.rank + prod(axes.extents)
    named = _named(axes, rank)
    call.refuse_where(
        _misnamed(prod(axes.extents), named),
        (axes,),
        f"this run computes axes that are not {prod(axes.extents)} different ones of {rank}",
    )
    before: Expr = expr(0)
    sizes: list[Expr] = []
    for here in named:
        own: Expr = expr(1)
        for d, extent in enumerate(t.shape):
            own = select(before.eq(len(sizes) - d), number(extent), own)
        sizes.append(select(here, 1, own))
        before = before + here.cast(I32)
    return _of_run(call, t, sizes)


def _without_axes(call: Call, t: Tensor) -> Tensor:
    """Squeeze along axes that a run computes: each dimension is one of the operand's, by how many named ones are before
    it. Axes may repeat, but the rank of the result is known: that of different ones, as many as there can be."""
    axes = call.input(1)
    count = min(prod(axes.extents), t.rank)
    named = _named(axes, t.rank)
    wrong = [here & number(extent).ne(1) for here, extent in zip(named, t.shape, strict=True)]
    if count < prod(axes.extents):
        wrong += [(v < -t.rank) | (v >= t.rank) for v in _values_of(axes)]
    call.refuse_where(
        reduce(or_, wrong, _misnamed(count, named)),
        (axes,),
        f"this run computes axes that are not {count} different ones of extent 1 in {shown(t.shape)}",
    )
    kept: list[Expr] = [expr(0)]  # how many are before each
    for here in named:
        kept.append(kept[-1] + select(here, expr(0), 1))
    sizes: list[Expr] = []
    for place in range(t.rank - count):
        own: Expr = expr(1)
        for d, (here, extent) in enumerate(zip(named, t.shape, strict=True)):
            own = select(~here & kept[d].eq(place), number(extent), own)
        sizes.append(own)
    return _of_run(call, t, sizes)


def _of_run(call: Call, t: Tensor, sizes: Sequence[Expr]) -> Tensor:
    """`t` in a shape that a run computes from the axes."""
    axes = call.input(1)
    shape = [bounded_size(f"{call.name}.size{d}", [axes], n) for d, n in enumerate(sizes)]
    extents = [n for n in shape if n is not None]
    if len(extents) < len(shape):
        raise call.not_known(1, "axes")

    def body(*at: Expr) -> Expr:
        return t.read(unravel_within(ravel(at, extents), t.shape))

    return compute(call.name, extents, (t,), body)


OPERATORS = {
    "Flatten": _flatten,
    "Reshape": _reshape,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
}
