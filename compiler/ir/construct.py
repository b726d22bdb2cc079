"""Shorthands for expressions that have no operator of their own."""

from __future__ import annotations

from ..dtypes import BOOL
from .nodes import Const, Expr, ExprLike, Select, Unary, binary, expr


def unary(op: str, a: Expr) -> Expr:
    """`op` is a key of `scalar_ops.UNARY`."""
    return Unary(op, a)


def maximum(a: ExprLike, b: ExprLike) -> Expr:
    """`b if a < b else a`."""
    return binary("max", a, b)


def minimum(a: ExprLike, b: ExprLike) -> Expr:
    """`b if b < a else a`."""
    return binary("min", a, b)


def select(cond: Expr, a: ExprLike, b: ExprLike) -> Expr:
    """a where cond else b; both are evaluated."""
    if isinstance(a, Expr):
        b = expr(b, a.dtype)
    elif isinstance(b, Expr):
        a = expr(a, b.dtype)
    assert isinstance(a, Expr)
    assert isinstance(b, Expr)
    if a.dtype != b.dtype:
        raise TypeError(f"select: arms of different dtypes: {a.dtype} and {b.dtype}")
    return Select(cond, a, b)


def all_of(*conds: Expr) -> Expr:
    """Conjunction; true for none."""
    result: Expr | None = None
    for c in conds:
        result = c if result is None else result & c
    return Const(True, BOOL) if result is None else result
