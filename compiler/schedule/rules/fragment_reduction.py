"""Reductions in a fragment: which of their loops are unrolled, so that each texel is fetched once for all uses of its
four elements.

A loop along the elements of a texel is unrolled by four. Loops over a window are unrolled as long as the fetches of one
iteration stay few: a window's columns share texels among the pixels of a tile, its rows do not, but save a loop. More
than about 64 fetches in a row no longer pay: they run out of registers. Mathematical functions do not pay either: a
fetch costs little next to one, and software rasterisers take 50 ms to compile a sine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from ...choices import Choices, ordered
from ...ir.affine import affine
from ...ir.evaluate_expression import evaluate_expression
from ...ir.nest import Reduction
from ...ir.nodes import Binary, Load, LoopKind, Node, Scope, Stmt, Unary, Var
from ...ir.rewrite import free_vars, loads, walk
from ...ir.scalar_ops import QUADS
from ...ir.simplify import simplify_stmt
from ...ir.verify import LOWERED_UNARY
from ...target import TEXEL
from ..steps import reorder, split, tag, tiles_of

FETCHES = 48
"""Most texels fetched in one iteration, where a loop could be kept instead."""

FUNCTIONS = 32
"""Most mathematical functions evaluated in one iteration, where a loop could be kept instead."""

MOST_FETCHES = 96
"""The limit for choices other than the default."""


def schedule_fragment_reduction(stmt: Stmt, nest: Reduction, tiles: Sequence[Var], choices: Choices) -> Stmt:
    """The reduction without its parallel loops; `tiles` are those that will be unrolled inside."""
    if not nest.over:
        return stmt
    runs = _along_texels(nest) if _functions(nest) * prod(v.extent for v in tiles) * TEXEL <= FUNCTIONS else [None]
    run = choices.choose("run", [None if v is None else nest.over.index(v) for v in runs])
    along = None if run is None else nest.over[run]
    written = _written_out(nest, along, tiles, choices)
    free = [v for v in nest.over if v not in written and v is not along]
    order = [*free, *([along] if along is not None else []), *(v for v in nest.over if v in written)]
    if len(order) > 1:
        stmt = reorder(stmt, order)
    for v in written:
        stmt = tag(stmt, v, LoopKind.UNROLL)
    if along is not None:
        stmt, parts = split(stmt, along, tiles_of(along, TEXEL))
        for _, inner in parts:
            stmt = tag(stmt, inner, LoopKind.UNROLL)
    return simplify_stmt(stmt)


def _written_out(nest: Reduction, along: Var | None, tiles: Sequence[Var], choices: Choices) -> list[Var]:
    """The loops that are unrolled: greedily the one that adds the fewest fetches for its iterations, by default as long
    as fetches stay few."""
    sites = [x for x in loads(nest.value) if x.buffer.scope is Scope.GLOBAL]
    functions = _functions(nest)
    written_out = {v: v.extent for v in tiles}
    if along is not None:
        written_out[along] = min(TEXEL, along.extent)
    free = [v for v in nest.over if v is not along and v.length is None and v.extent <= FETCHES]
    candidates: list[tuple[Var, int]] = []
    while free:
        best = min(free, key=lambda v: fetches(sites, {**written_out, v: v.extent}) / v.extent)
        written_out[best] = best.extent
        if functions * prod(written_out.values()) > FUNCTIONS:
            break
        fetched = fetches(sites, written_out)
        candidates.append((best, fetched))
        free.remove(best)
        if fetched > MOST_FETCHES:
            break
    counts = [n for n, (_, fetched) in enumerate(candidates, 1) if fetched <= MOST_FETCHES]
    few = next((n for n, (_, fetched) in enumerate(candidates) if fetched > FETCHES), len(candidates))
    count = choices.choose("written", ordered(few, [0, *counts]))
    return [v for v, _ in candidates[:count]]


def _functions(nest: Reduction) -> int:
    """Mathematical functions that an element evaluates, and products of words, which are as long in a shader."""
    return sum(_is_function(n) for n in walk(nest.value))


def _is_function(n: Node) -> bool:
    match n:
        case Unary(op, _):
            return op not in LOWERED_UNARY
        case Binary(op, _, _):
            return op == QUADS or (op in ("pow", "fmod") and n.dtype.is_float)
    return False


def _along_texels(nest: Reduction) -> list[Var | None]:
    """Loops that may be unrolled by a texel, the preferred one first: the one along the last axis of most operands;
    else one along the pixels of a tile; else none."""
    variables: dict[Var | None, None] = {}
    for axis in (-1, -2):
        score = dict.fromkeys(nest.over, 0)
        for x in loads(nest.value):
            if x.buffer.scope is Scope.GLOBAL and len(x.indices) >= -axis:
                form = affine(x.indices[axis])
                for v in nest.over:
                    score[v] += form.coefficient(v) == 1
        best = max(nest.over, key=lambda v: (score[v], v.extent))
        if score[best] and (axis == -1 or best.extent >= 2 * TEXEL):
            variables[best] = None
    return [*variables, None]


def fetches(sites: Sequence[Load], together: Mapping[Var, int]) -> int:
    """The number of texels fetched when loops are unrolled, each variable of `together` by its number of iterations."""
    extents = tuple(together.values())
    axes = np.indices(extents, np.int32).reshape(len(extents), -1)
    env = dict(zip(together, axes, strict=True))
    total = 0
    for x in sites:
        variables = free_vars(x)
        if any([*loads(i)] for i in x.indices):
            total += prod(n for v, n in together.items() if v in variables)
        elif x.indices:
            others = dict.fromkeys(variables, np.zeros((), np.int32))
            places = [np.broadcast_to(evaluate_expression(i, others | env), axes.shape[1:]) for i in x.indices]
            places[-1] = places[-1] // TEXEL
            total += np.unique(np.stack(places), axis=1).shape[1]
        else:
            total += 1
    return total
