"""Element-wise nests on a GPU: one invocation per vector of four elements, or per element.

A workgroup is 64 invocations, two or one of a real GPU's waves: more would not help code without shared memory, fewer
leave lanes idle. Neighbouring invocations take neighbouring vectors, so a wave's loads are coalesced.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...choices import Choices, ordered
from ...ir.nest import Nest
from ...ir.nodes import For, Stmt, Var
from ...ir.simplify import simplify_stmt
from ...target import LANES, GpuTarget
from ..access import vectorisable
from ..steps import fuse, rounded, split, spread, vectorise
from .pointwise import merge_loops

WORKGROUP = 64


def simt_pointwise(
    stmt: Stmt, nest: Nest, target: GpuTarget, choices: Choices, vectors: Sequence[bool] = (True, False)
) -> Stmt:
    """The nest over BLOCK and THREAD loops; a nest without loops stays as it is. `vectors` are the options of the
    choice of that name."""
    stmt, merged = merge_loops(stmt, nest)
    if merged is None or not merged.loops:
        return stmt
    inner = merged.loops[-1]
    if inner.extent % LANES == 0 and vectorisable(stmt, inner) and choices.choose("vectors", vectors):
        stmt, ((_, lane),) = split(stmt, inner, [rounded(inner, LANES)])
        stmt = vectorise(stmt, lane, LANES)
    return spread_flat(stmt, len(merged.loops), choose_workgroup(target, choices))


def choose_workgroup(target: GpuTarget, choices: Choices) -> int:
    """Invocations of a one-dimensional workgroup."""
    sizes = [n for n in (32, 64, 128, 256) if n <= target.invocations]
    return choices.choose("workgroup", ordered(WORKGROUP, sizes))


def spread_flat(stmt: Stmt, loops: int, workgroup: int) -> Stmt:
    """The outermost `loops` loops as a one-dimensional grid of invocations."""
    stmt, line = fuse_outer(stmt, loops)
    return simplify_stmt(spread(stmt, [min(workgroup, line.extent)]))


def fuse_outer(stmt: Stmt, loops: int) -> tuple[Stmt, Var]:
    """The outermost loops as one."""
    variables: list[Var] = []
    body = stmt
    while len(variables) < loops:
        assert isinstance(body, For)
        variables.append(body.var)
        body = body.body
    line = variables[0]
    for v in variables[1:]:
        stmt, line = fuse(stmt, line, v)
    return stmt, line
