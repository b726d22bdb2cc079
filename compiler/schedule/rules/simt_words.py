"""Element-wise nests whose result has several elements in a word of memory: an invocation computes a word.

Invocations that wrote parts of one word would overwrite each other's. Where vectors of four elements begin at multiples
of four, `simt_pointwise` makes whole words; here the result is one line of elements, whatever its shape.
"""

from __future__ import annotations

from dataclasses import replace

from ...choices import Choices
from ...dtypes import BOOL
from ...ir.affine import flat_offset
from ...ir.construct import all_of, maximum, minimum
from ...ir.layout import Layout
from ...ir.nest import Pointwise
from ...ir.nodes import Buffer, Const, Expr, For, LoopKind, Select, Stmt, Store, Var
from ...ir.rewrite import substitute
from ...ir.simplify import simplify_expr, simplify_stmt
from ...target import LANES, GpuTarget
from ..access import vectorisable
from ..invert_store import invert_store, unfold
from .pointwise import merge_loops
from .simt_pointwise import choose_workgroup, spread_flat


def stores_words(stmt: Stmt, nest: Pointwise) -> bool:
    """Whether `simt_pointwise` stores vectors of whole words, if it stores vectors."""
    stmt, merged = merge_loops(stmt, nest)
    if merged is None or not merged.loops:
        return False
    inner = merged.loops[-1]
    offset = flat_offset(merged.store.buffer.shape, merged.store.indices)
    if inner.extent % LANES or offset.coefficient(inner) != 1 or not offset.without(inner).is_multiple(LANES):
        return False
    return vectorisable(stmt, inner)


def simt_words(nest: Pointwise, target: GpuTarget, choices: Choices) -> tuple[Stmt, dict[Buffer, Buffer]]:
    """y[i, j] = f(i, j), i < 5, j < 3   ->   y'[4*w + l] = f((4*w + l) // 3, (4*w + l) % 3), w < 4, l < 4

    What the result has besides its elements, up to whole words too, is zero. Returns the statement, and the result with
    what replaces it.
    """
    out = nest.store.buffer
    count = -(-out.size // LANES)
    flat = replace(out, shape=(count * LANES,))
    word, lane = Var("word", count), Var("lane", LANES)
    at = word * LANES + lane
    indices = unfold(at, out.shape)
    layout = out.layout or Layout.row_major(out.shape)
    inside = [at < out.size] if flat.size > out.size else []
    for axis, (place, n) in enumerate(zip(layout.logical(indices), layout.shape, strict=True)):
        inside += [place >= 0, place < n] if layout.extent(axis) != n else []
    env: dict[Var, Expr] = {}
    for v, place in invert_store(nest.store, nest.loops, indices, out.name).items():
        within = simplify_expr((place >= 0) & (place < v.extent)) == Const(True, BOOL)
        env[v] = place if within else maximum(minimum(place, v.extent - 1), 0)
    value = substitute(nest.store.value, env)
    if inside:
        value = Select(all_of(*inside), value, Const(0.0 if out.dtype.is_float else 0, out.dtype))
    stmt: Stmt = For(word, For(lane, Store(flat, (at,), value), LoopKind.UNROLL))
    return simplify_stmt(spread_flat(stmt, 1, choose_workgroup(target, choices))), {out: flat}
