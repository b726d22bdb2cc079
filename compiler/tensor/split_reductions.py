"""Reduces in stages where results are few: on a GPU one invocation would do all the work, and others be idle."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from ..choices import ordered
from ..ir.contraction import find_contraction
from ..ir.nodes import Const, Expr, Load, Node, Select, Var
from ..ir.reduction import Reduce
from ..ir.rewrite import loads, rewrite_top_down, substitute
from ..target import Stages
from .layer_choices import LayerChoices, default_layers
from .program import TensorProgram
from .replace_tensors import replace_tensors
from .tensor import Tensor, compute, reduce

FEWEST = 128
"""Fewest elements of a reduction that may be split into stages."""


def split_reductions(
    program: TensorProgram, alone: Stages, shared: Stages, choices: LayerChoices = default_layers
) -> TensorProgram:
    """y = sum of x[r], r < 9000   ->   t[i] = sum of x[9 * i + r], r < 9; y = sum of t[i], i < 1000

    `alone` decides for products, of which an invocation computes a tile of results, `shared` for other reductions.
    Parts are as many as the minimum occupancy requires, or more where they would still be too long. Sums are
    reassociated. The choice is `stages` of the result.
    """
    return replace_tensors(program, lambda t: _stages(t, alone if _is_product(t) else shared, choices))


def _is_product(t: Tensor) -> bool:
    """Whether it is a sum of products in which results share an operand."""
    if not isinstance(t.body, Reduce) or t.body.op != "sum":
        return False
    contraction = find_contraction(t.axes, t.body.axes, t.body.value)
    return contraction is not None and bool(contraction.rows or contraction.columns)


def _stages(t: Tensor, stages: Stages, choices: LayerChoices) -> list[Tensor]:
    """`t` alone, or its stages, `t` last."""
    longest = max(t.body.axes, key=lambda v: v.extent, default=None) if isinstance(t.body, Reduce) else None
    if longest is None or not isinstance(t.body, Reduce) or t.prepared or t.is_dynamic or not prod(t.extents):
        return [t]
    parts = choices(t).choose("stages", _options(t, t.body, longest.extent, stages))
    if parts < 2:
        return [t]
    partial = _partial(t, t.body, longest, parts)
    part = Var("part", parts)
    whole = Reduce(t.body.op, (part,), Load(partial.buffer, (*t.axes, part)), t.body.init)
    first = _stages(partial, stages, choices)
    return [*first, replace(t, body=whole, reads=(first[-1],))]


def _options(t: Tensor, whole: Reduce, extent: int, stages: Stages) -> list[int]:
    """Parts that the longest loop can be cut into, the preferred number first."""
    results, elements = prod(t.extents), prod(v.extent for v in whole.axes)
    preferred = 1
    if results < stages.occupancy and elements > stages.most:
        long = min(-(-elements // stages.most), stages.most)
        preferred = max(1, _parts(extent, max(-(-stages.occupancy // results), long)))
    powers = [1 << n for n in range(2, (extent // 4).bit_length())] if elements >= FEWEST else []
    return ordered(preferred, [1, *powers])


def _parts(extent: int, count: int) -> int:
    """The number of parts of a loop: about `count`, of at least four elements each; equal parts if possible."""
    count = min(count, extent // 4)
    equal = [n for n in range(count, min(2 * count, extent // 4) + 1) if n and extent % n == 0]
    return equal[0] if equal else count


def _partial(t: Tensor, whole: Reduce, longest: Var, parts: int) -> Tensor:
    """The reduction over parts of `longest`, one result for each along a last axis."""
    size = -(-longest.extent // parts)
    others = [v for v in whole.axes if v is not longest]

    def element(*axes: Expr) -> Expr:
        *outer, part = axes

        def value(*over: Expr) -> Expr:
            at = part * size + over[-1]
            env = {**dict(zip(t.axes, outer, strict=True)), **dict(zip(others, over, strict=False)), longest: at}
            operand = substitute(whole.value, env)
            return operand if size * parts == longest.extent else _where(at < longest.extent, operand, neutral)

        return reduce(whole.op, [*(v.extent for v in others), size], value)

    neutral = _neutral(whole)
    return replace(compute(f"{t.name}.parts", (*t.extents, parts), t.reads, element), exact=True)


def _neutral(whole: Reduce) -> Const:
    start = reduce(whole.op, [1], lambda _: Const(0.0 if whole.dtype.is_float else 0, whole.dtype))
    assert isinstance(start, Reduce)
    return start.init


def _where(cond: Expr, value: Expr, otherwise: Const) -> Expr:
    """`value` where `cond` holds, and nothing is loaded elsewhere."""

    def rule(n: Node) -> Expr | None:
        if isinstance(n, Load):
            return Load(n.buffer, n.indices, cond if n.guard is None else cond & n.guard)
        return None

    if not any(True for _ in loads(value)):
        return Select(cond, value, otherwise)
    return Select(cond, rewrite_top_down(value, rule), otherwise)
