"""Element-wise nests on a GPU: one invocation per vector of four elements, or per element.

A workgroup is 64 invocations, two or one of a real GPU's waves: more would not help code without shared memory, fewer
leave lanes empty. Neighbouring invocations take neighbouring vectors, so a wave's loads are one run of memory.
"""

from __future__ import annotations

from ...ir.nodes import For, Stmt, Var
from ...ir.simplify import simplify_stmt
from ..access import contiguous, vectorisable
from ..nest import match_nest
from ..steps import fuse, split, spread, vectorise

WORKGROUP = 64
LANES = 4


def simt_pointwise(stmt: Stmt) -> Stmt:
    """The nest over BLOCK and THREAD loops; a nest without loops stays as it is."""
    stmt = merge(stmt)
    nest = match_nest(stmt)
    if nest is None or not nest.loops:
        return stmt
    inner = nest.loops[-1]
    if inner.extent % LANES == 0 and vectorisable(stmt, inner):
        stmt, ((_, lane),) = split(stmt, inner, [(inner.extent // LANES, LANES)])
        stmt = vectorise(stmt, lane, LANES)
    return spread_flat(stmt, len(nest.loops))


def merge(stmt: Stmt) -> Stmt:
    """Fuses neighbouring loops, from the inside out, where every access allows it without a division."""
    nest = match_nest(stmt)
    assert nest is not None
    loops = list(nest.loops)
    while len(loops) > 1 and contiguous(stmt, *loops[-2:]):
        stmt, fused = fuse(stmt, *loops[-2:])
        loops[-2:] = [fused]
    return simplify_stmt(stmt)


def spread_flat(stmt: Stmt, loops: int, workgroup: int = WORKGROUP) -> Stmt:
    """The outermost `loops` loops as one line of invocations."""
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
