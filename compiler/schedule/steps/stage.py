"""stage: the sums of a register tile go through memory before a heavy epilogue."""

from __future__ import annotations

from dataclasses import replace

from ...ir.nodes import Alloc, Buffer, Expr, For, Load, LoopKind, Scope, Seq, Stmt, Store, Unary, Var
from ...ir.rewrite import rewrite, rewrite_top_down, substitute, walk
from ..access import accesses

CHEAP = frozenset({"neg", "not", "abs", "sqrt", "floor", "ceil", "trunc", "round"})
"""Operations of one instruction; all other unary operations are functions of a dozen."""


def stage(stmt: Stmt) -> Stmt:
    """local acc[6]; ...; for i < 6 unroll: y[i] = acc[i] * erf(acc[i])
    ->  local acc[6]; ...; local sums[6]; for i < 6 unroll: sums[i] = acc[i]; for i < 6: y[i] = sums[i] * erf(sums[i])

    Where a tile's epilogue computes mathematical functions, their temporaries and constants compete with the sums for
    registers, and Firefox then spills the sums, inside the reduction, too. The loop that is not unrolled is the
    outermost in which all addresses have constant strides; without one nothing changes.
    """

    def rule(n: object) -> Stmt | None:
        match n:
            case Alloc(acc, Seq((*before, For() as end))) if _is_heavy(end):
                staged = _stage(acc, end)
                return None if staged is None else Alloc(acc, Seq((*before, staged)))
        return None

    return rewrite_top_down(stmt, rule)


def _is_heavy(end: For) -> bool:
    return any(isinstance(n, Unary) and n.op not in CHEAP for n in walk(end))


def _stage(acc: Buffer, end: For) -> Stmt | None:
    loops: list[For] = []
    body: Stmt = end
    while isinstance(body, For):
        loops.append(body)
        body = body.body
    if not isinstance(body, Store) or body.buffer.scope is not Scope.GLOBAL:
        return None
    serial = next((x for x in loops if x.kind is LoopKind.UNROLL and _is_even(body, x.var)), None)
    read = {x for x in walk(body) if isinstance(x, Load) and x.buffer is acc}
    if serial is None or len(read) != 1:
        return None
    (place,) = read
    sums = Buffer("sums", acc.shape, acc.dtype, Scope.LOCAL)
    fresh = {x.var: Var(x.var.name, x.var.extent) for x in loops}
    at = tuple(substitute(i, fresh) for i in place.indices)
    keep: Stmt = Store(sums, at, Load(acc, at))
    for x in reversed(loops):
        keep = replace(x, var=fresh[x.var], body=keep)

    def from_sums(n: object) -> Expr | None:
        return Load(sums, place.indices) if n == place else None

    staged: Stmt = rewrite(body, from_sums)
    for x in reversed([x for x in loops if x is not serial]):
        staged = replace(x, body=staged)
    return Alloc(sums, Seq((keep, For(serial.var, staged))))


def _is_even(store: Store, var: Var) -> bool:
    return var.extent > 1 and all(a.stride(var) is not None for a in accesses(store))
