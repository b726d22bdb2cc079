"""hoist_guards: a condition that guards every addend of a sum's loop guards the loop instead."""

from __future__ import annotations

from ...ir.conditions import conjuncts
from ...ir.nodes import Binary, Expr, For, If, Load, LoopKind, Scope, Stmt, Store
from ...ir.rewrite import free_vars, rewrite, rewrite_statements, walk


def hoist_guards(stmt: Stmt) -> Stmt:
    """for k reduce: acc = acc + (x[r, k] if r < 5) * w[k]   ->   if r < 5: for k reduce: acc = acc + x[r, k] * w[k]

    Applies to sums of which every addend has a factor that is zero where the guard is false. Conditions that depend on
    the variable of an unrolled loop inside stay.
    """

    def rule(n: object) -> Stmt | None:
        if not isinstance(n, For) or n.parallel or n.kind is not LoopKind.SERIAL:
            return None
        common = _common(n)
        if not common:
            return None
        body = rewrite(n, lambda x: _without(x, common) if isinstance(x, Load) else None)
        cond = common[0]
        for c in common[1:]:
            cond = cond & c
        return If(cond, body)

    return rewrite_statements(stmt, rule)


def _common(loop: For) -> list[Expr]:
    """The conditions, free of variables bound inside, that guard every addend of the loop's sums."""
    bound = {n.var for n in walk(loop) if isinstance(n, For)}
    common: list[Expr] | None = None
    for n in walk(loop):
        if isinstance(n, If):
            return []
        if not isinstance(n, Store):
            continue
        factors = _factors(n)
        if factors is None:
            return []
        here = [c for f in factors if isinstance(f, Load) and f.guard is not None for c in conjuncts(f.guard)]
        common = [c for c in (here if common is None else common) if c in here and not free_vars(c) & bound]
    return list(dict.fromkeys(common or []))


def _factors(update: Store) -> tuple[Expr, ...] | None:
    """The factors of the addend of a local sum; None for other stores."""
    match update:
        case Store(buffer, indices, Binary("+", Load(read, at), value)) if read is buffer and at == indices:
            if buffer.scope is not Scope.LOCAL:
                return None
            return (value.a, value.b) if isinstance(value, Binary) and value.op == "*" else (value,)
    return None


def _without(x: Load, common: list[Expr]) -> Expr | None:
    if x.guard is None:
        return None
    rest: Expr | None = None
    for c in conjuncts(x.guard):
        if c not in common:
            rest = c if rest is None else rest & c
    return Load(x.buffer, x.indices, rest)
