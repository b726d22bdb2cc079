"""Large windows of pooling are reduced axis by axis, where a launch takes less time than that saves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from ..ir.conditions import conjuncts
from ..ir.nodes import Expr, Load, Select, Var
from ..ir.reduction import COMBINE, Reduce, neutral
from ..ir.rewrite import free_vars, substitute
from .program import TensorProgram
from .replace_tensors import replace_tensors
from .tensor import Tensor, compute, reduce

PASS = 2
"""Elements of a window that take as long as one element that is stored and loaded."""

GAIN = 1.5
"""How many times as long the whole window must take."""


@dataclass(frozen=True, slots=True)
class Tap:
    """An element of a window: `load` where the conditions `guard` hold, elsewhere the neutral element."""

    load: Load
    guard: tuple[Expr, ...]


def split_windows(program: TensorProgram) -> TensorProgram:
    """y[i, j] = max of x[i + k, j + l], k < 5, l < 5
    ->  t[i, j] = max of x[i + k, j], k < 5; y[i, j] = max of t[i, j + l], l < 5

    Sums are reassociated.
    """
    return replace_tensors(program, _axis_by_axis)


def _axis_by_axis(t: Tensor) -> list[Tensor]:
    """`t` alone, or reductions over one axis of its windows each, `t` last."""
    if not isinstance(t.body, Reduce) or len(t.body.axes) < 2 or len(t.reads) != 1 or t.exact or t.prepared:
        return [t]
    whole, (x,) = t.body, t.reads
    tap = _tap(whole)
    if tap is None or tap.load.buffer is not x.buffer or len(tap.load.indices) != t.rank:
        return [t]
    for d, over in _apart(t, whole, tap):
        old = prod(t.extents) * prod(v.extent for v in whole.axes)
        stored = prod(x.extents) // x.extents[d] * t.extents[d] if x.extents[d] else 0
        new = stored * (over.extent + PASS) + old // over.extent
        if old >= GAIN * new:
            partial = _partial(t, whole, tap, d, over)
            indices = tuple(t.axes[d] if e == d else i for e, i in enumerate(tap.load.indices))
            guard = _and([c for c in tap.guard if not {over, t.axes[d]} & free_vars(c)])
            rest = tuple(v for v in whole.axes if v is not over)
            value = _value(partial, indices, guard, whole)
            return [partial, *_axis_by_axis(replace(t, body=replace(whole, axes=rest, value=value), reads=(partial,)))]
    return [t]


def _tap(whole: Reduce) -> Tap | None:
    """The element of a window; None where it is computed, or padding is not neutral."""
    start = neutral(COMBINE[whole.op], whole.dtype)
    match whole.value:
        case Load(_, _, None) as load:
            return Tap(load, ())
        case Load(_, _, guard) as load if guard is not None and not start.value:
            return Tap(load, tuple(conjuncts(guard)))
        case Select(cond, Load(_, _, guard) as load, otherwise) if cond == guard and otherwise == start:
            return Tap(load, tuple(conjuncts(cond)))
    return None


def _apart(t: Tensor, whole: Reduce, tap: Tap) -> list[tuple[int, Var]]:
    """The dimensions along which a window is reduced apart from others, with the reduction axis of each."""
    found = []
    for d, index in enumerate(tap.load.indices):
        over = [v for v in whole.axes if v in free_vars(index)]
        own = {*over, t.axes[d]}
        beside = [i for e, i in enumerate(tap.load.indices) if e != d]
        parts = [index, *beside, *tap.guard]
        if len(over) == 1 and not any(own & free_vars(i) for i in beside) and all(_is_apart(e, own) for e in parts):
            found.append((d, over[0]))
    return found


def _is_apart(e: Expr, own: set[Var]) -> bool:
    """Whether all variables of an expression are in `own`, or none."""
    used = free_vars(e)
    return used <= own or not used & own


def _partial(t: Tensor, whole: Reduce, tap: Tap, d: int, over: Var) -> Tensor:
    """The reduction along dimension `d` alone: all elements of the operand along the others."""
    (x,) = t.reads

    def element(*axes: Expr) -> Expr:
        def value(k: Expr) -> Expr:
            env: dict[Var, Expr] = {over: k, t.axes[d]: axes[d]}
            indices = tuple(substitute(i, env) if e == d else axes[e] for e, i in enumerate(tap.load.indices))
            guard = _and([substitute(c, env) for c in tap.guard if {over, t.axes[d]} & free_vars(c)])
            return _value(x, indices, guard, whole)

        return reduce(whole.op, [over.extent], value)

    shape = [t.shape[e] if e == d else n for e, n in enumerate(x.shape)]
    return compute(f"{t.name}.axis{d}", shape, (x,), element)


def _value(x: Tensor, indices: tuple[Expr, ...], guard: Expr | None, whole: Reduce) -> Expr:
    return x.read(indices, guard, otherwise=neutral(COMBINE[whole.op], whole.dtype))


def _and(conditions: list[Expr]) -> Expr | None:
    """All of them; None for none."""
    both: Expr | None = None
    for c in conditions:
        both = c if both is None else both & c
    return both
