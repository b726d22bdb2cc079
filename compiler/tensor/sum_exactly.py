"""Sums of integer products in float32, where each is a whole number that float32 holds: on targets that add these
faster than integers."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from ..choices import ordered
from ..dtypes import F32, I32
from ..ir.contraction import find_contraction, loaded_operand
from ..ir.nodes import Binary, Buffer, Cast, Const, Expr, Load, Node, Var
from ..ir.reduction import Reduce
from ..ir.rewrite import free_vars, loads, rewrite
from .bound_elements import span_of
from .layer_choices import LayerChoices
from .program import TensorProgram
from .replace_tensors import replace_tensors
from .split_contractions import LEAST, partial_sums
from .sum_in_floats import FloatOperands, without_sums
from .tensor import Tensor, compute

LARGEST = 1 << 24
"""Up to this float32 holds every whole number, positive or negative."""


def sum_exactly(program: TensorProgram, choices: LayerChoices) -> TensorProgram:
    """total[i] = sum over k of int32(x[i, k]) * int32(w[k]); y[i] = float32(total[i])
    ->  y[i] = sum over k of float32(x[i, k]) * float32(w[k])

    for sums that are at most LARGEST in whatever order their terms are added, by the elements of a constant w, or what
    is known of another. Other readers convert the sum to int32. Larger sums of matrices are made in parts, which are
    added up in int32. The choice is `sums`.
    """
    floats: dict[Buffer, Tensor] = {}
    totals: set[Tensor] = set()
    operands = FloatOperands()

    def make(t: Tensor) -> tuple[Tensor, ...]:
        split = _count_parts(t)
        if split is None:
            return (_read_floats(t, floats),)
        parts = operands.sum(replace(t, buffer=Buffer(f"{t.name}.float", t.extents, F32)), t)
        if parts is None or choices(t).choose("sums", ordered("float32", ["int32", "float32"])) == "int32":
            return (t,)
        totals.add(t)
        operands.keep(parts)
        over, count = split
        if count > 1:
            partial = partial_sums(parts[-1], over, count)
            return *parts[:-1], partial, _added_up(t, partial, count)
        floats[t.buffer] = parts[-1]
        whole = compute(t.name, t.shape, (parts[-1],), lambda *i: parts[-1].read(i).cast(I32))
        total = replace(t, axes=whole.axes, body=whole.body, reads=whole.reads)
        totals.add(total)
        return *parts, total

    result = replace_tensors(program, make)
    return without_sums(result, totals) if totals else program


def _added_up(t: Tensor, partial: Tensor, parts: int) -> Tensor:
    """The sum of the parts in int32, in the buffer of `t`."""
    part = Var("part", parts)
    axes = t.axes if t.rank <= 2 else t.axes[1:]
    body = Reduce("sum", (part,), Load(partial.buffer, (part, *axes)).cast(I32), Const(0))
    return replace(t, body=body, reads=(partial,))


def _read_floats(t: Tensor, floats: dict[Buffer, Tensor]) -> Tensor:
    """`t`, reading sums in float32 where it converts them to that."""
    if t.body is None or not any(r.buffer in floats for r in t.reads):
        return t

    def rule(n: Node) -> Expr | None:
        match n:
            case Cast(to, Load(b, indices, guard)) if to == F32 and b in floats:
                return Load(floats[b].buffer, indices, guard)
        return None

    body = rewrite(t.body, rule, {Cast})
    used = {x.buffer for x in loads(body)}
    reads = dict.fromkeys((*t.reads, *(floats[r.buffer] for r in t.reads if r.buffer in floats)))
    return replace(t, body=body, reads=tuple(r for r in reads if r.buffer in used))


def _count_parts(t: Tensor) -> tuple[Var, int] | None:
    """The longest axis of `t`, a sum of products with an operand that has columns, and the fewest equal parts of it, of
    which sums are at most LARGEST; None for other tensors."""
    if t.dtype != I32 or not isinstance(t.body, Reduce) or t.body.op != "sum":
        return None
    contraction = find_contraction(t.axes, t.body.axes, t.body.value)
    if contraction is None or not isinstance(t.body.value, Binary) or t.body.value.op != "*":
        return None
    by_buffer = {r.buffer: r for r in t.reads}
    for way in contraction.orientations:
        x, w = loaded_operand(way.a), loaded_operand(way.b)
        if x is None or w is None or not way.columns or not way.over or x.buffer is w.buffer:
            continue
        of = by_buffer[w.buffer]
        if of.data is None and by_buffer[x.buffer].data is not None:
            continue
        longest = max(way.over, key=lambda v: v.extent)
        matrix = t.axes[-1] in way.columns and (t.rank <= 2 or t.extents[0] == 1) and not t.is_dynamic
        counts = range(1, longest.extent // LEAST + 1) if matrix else ()
        largest = max(map(abs, span_of(by_buffer[x.buffer])))
        for n in (1, *(n for n in counts if n > 1 and longest.extent % n == 0)):
            if largest * _largest_sum(of, w, t.body.axes, longest, n) <= LARGEST:
                return longest, n
    return None


def _largest_sum(t: Tensor, w: Load, over: tuple[Var, ...], along: Var, parts: int) -> int:
    """An upper bound of the absolute values in a sum over axes, `along` one of which it is in `parts`, of the elements
    `w` of a tensor."""
    data = t.data
    if data is None:
        return prod(v.extent for v in over) // parts * max(map(abs, span_of(t)))
    sizes = np.abs(data.astype(np.int64))
    indices = list(w.indices)
    summed = [d for d, i in enumerate(indices) if i in over and indices.count(i) == 1]
    others = [v for d, i in enumerate(indices) if d not in summed for v in free_vars(i)]
    if any(v in over for v in others):
        return prod(v.extent for v in over) * int(sizes.max(initial=0))
    repeated = prod(v.extent for v in over if v not in indices)
    split = indices.index(along)
    columns = np.moveaxis(sizes.sum(axis=tuple(d for d in summed if d != split), keepdims=True), split, -1)
    return repeated * int(columns.reshape(-1, parts, along.extent // parts).sum(axis=-1).max(initial=0))
