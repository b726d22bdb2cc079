"""Branches around what is seldom needed, in languages whose compilers would compute it for all."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

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
    Unary,
)
from ..ir.rewrite import children, rewrite, rewrite_statements, with_children
from ..ir.unlikely import Unlikely

MOST_OPERANDS = 2
"""Values that a branch chooses; where arms have less in common it chooses their results."""


def branch_unlikely(kernel: Kernel) -> Kernel:
    """y[i] = 2 * unlikely(c, f(a), f(b))   ->   t = b; if c: t = a; y[i] = 2 * f(t)

    Of vectors, t = select(c, a, t) where `c` holds in some lane. `f` is what both arms do with at most MOST_OPERANDS
    values, so that it is written once. Elsewhere than in values that are stored it remains a selection.
    """
    body = rewrite_statements(kernel.body, lambda n: _branched(n) if isinstance(n, Store) else None)
    return kernel if body is kernel.body else replace(kernel, body=body)


def _branched(s: Store) -> Stmt | None:
    chosen: list[Buffer] = []
    stmts: list[Stmt] = []

    def rule(n: object) -> Expr | None:
        if not isinstance(n, Unlikely):
            return None
        arms = _Arms(n)
        likely, seldom = [], []
        for t, a, b in arms.operands:
            at = _all_of(t)
            likely.append(Store(t, at, b))
            seldom.append(Store(t, at, a if t.size == 1 else Select(n.cond, a, Load(t, at))))
            chosen.append(t)
        stmts.extend((*likely, If(_in_some_lane(n.cond), Seq(tuple(seldom)) if len(seldom) > 1 else seldom[0])))
        return arms.value

    value = rewrite(s.value, rule, {Unlikely})
    branched: Stmt = Seq((*stmts, replace(s, value=value)))
    for t in reversed(chosen):
        branched = Alloc(t, branched)
    return branched if chosen else None


class _Arms:
    """Both arms of a selection as one `value` over local buffers, with what each of these holds in either arm."""

    def __init__(self, n: Unlikely) -> None:
        self.operands: list[tuple[Buffer, Expr, Expr]] = []
        self._merged: dict[tuple[int, int], Expr] = {}
        self.value = self._merge(n.a, n.b)
        if len(self.operands) > MOST_OPERANDS:
            self.operands = []
            self.value = self._operand(n.a, n.b)

    def _merge(self, a: Expr, b: Expr) -> Expr:
        key = id(a), id(b)
        if key not in self._merged:
            if a is b or _constant(a) == _constant(b) is not None:
                self._merged[key] = a
            elif _same_operation(a, b):
                new = [self._merge(x, y) for x, y in _pairs(a, b)]
                self._merged[key] = cast(Expr, with_children(a, tuple(new)))
            else:
                self._merged[key] = self._operand(a, b)
        return self._merged[key]

    def _operand(self, a: Expr, b: Expr) -> Expr:
        t = Buffer("chosen", (lanes_of(a),), a.dtype, Scope.LOCAL)
        self.operands.append((t, a, b))
        return Load(t, _all_of(t))


def _all_of(t: Buffer) -> tuple[Expr]:
    return (Ramp(Const(0), t.size) if t.size > 1 else Const(0),)


def _constant(e: Expr) -> Expr | None:
    return e if isinstance(e, Const) or (isinstance(e, Splat) and isinstance(e.a, Const)) else None


def _same_operation(a: Expr, b: Expr) -> bool:
    match a, b:
        case (Binary(op), Binary(other)) | (Unary(op), Unary(other)) if op == other:
            pass
        case Select(), Select():
            pass
        case _:
            return False
    return all(x.dtype == y.dtype and lanes_of(x) == lanes_of(y) for x, y in _pairs(a, b))


def _pairs(a: Expr, b: Expr) -> list[tuple[Expr, Expr]]:
    return cast(list[tuple[Expr, Expr]], list(zip(children(a), children(b), strict=True)))


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
