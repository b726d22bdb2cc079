"""Branches around what is seldom needed, in languages whose compilers would compute it for all."""

from __future__ import annotations

from dataclasses import replace

from ..ir.lanes import Extract, Ramp, Splat, lanes_of
from ..ir.nodes import (
    COMPARISONS,
    Alloc,
    Binary,
    Buffer,
    Const,
    Expr,
    If,
    Kernel,
    Load,
    Scope,
    Select,
    Seq,
    Stmt,
    Store,
)
from ..ir.rewrite import rewrite
from ..ir.unlikely import Unlikely


def branch_unlikely(kernel: Kernel) -> Kernel:
    """y[i] = 2 * unlikely(c, a, b)   ->   t = b; if c: t = a; y[i] = 2 * t

    Of vectors, t = select(c, a, t) where `c` holds in some lane. Elsewhere than in values that are stored it remains a
    selection.
    """
    body = rewrite(kernel.body, lambda n: _branched(n) if isinstance(n, Store) else None)
    return kernel if body is kernel.body else replace(kernel, body=body)


def _branched(s: Store) -> Stmt | None:
    chosen: list[Buffer] = []
    stmts: list[Stmt] = []

    def rule(n: object) -> Expr | None:
        if not isinstance(n, Unlikely):
            return None
        lanes = lanes_of(n)
        t = Buffer("chosen", (lanes,), n.dtype, Scope.LOCAL)
        at: tuple[Expr, ...] = (Ramp(Const(0), lanes) if lanes > 1 else Const(0),)
        seldom = n.a if lanes == 1 else Select(n.cond, n.a, Load(t, at))
        chosen.append(t)
        stmts.extend((Store(t, at, n.b), If(_in_some_lane(n.cond), Store(t, at, seldom))))
        return Load(t, at)

    value = rewrite(s.value, rule)
    made: Stmt = Seq((*stmts, replace(s, value=value)))
    for t in reversed(chosen):
        made = Alloc(t, made)
    return made if chosen else None


def _in_some_lane(cond: Expr) -> Expr:
    lanes = [_lane(cond, i) for i in range(lanes_of(cond))]
    some = lanes[0]
    for other in lanes[1:]:
        some = some | other
    return some


def _lane(e: Expr, lane: int) -> Expr:
    """One lane, of a comparison that of its operands: not every language has vectors of bools."""
    match e:
        case Splat(a, _):
            return a
        case Binary(op, a, b) if op in COMPARISONS:
            return Binary(op, _lane(a, lane), _lane(b, lane))
    return Extract(e, lane) if lanes_of(e) > 1 else e
