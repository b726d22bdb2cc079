"""Shorthands for expressions that have no operator of their own."""

from __future__ import annotations

from ..dtypes import BOOL
from .nodes import Binary, Const, Expr, ExprLike, Select, Unary, binary, operands
from .reduction import WITHOUT_NAN


def unary(op: str, a: Expr) -> Expr:
    """`op` is a key of `scalar_ops.UNARY`. Languages lack magnitudes of unsigned integers, which are themselves."""
    return a if op == "abs" and a.dtype.kind == "uint" else Unary(op, a)


def maximum(a: ExprLike, b: ExprLike) -> Expr:
    """`b if a < b else a`."""
    return binary("max", a, b)


def minimum(a: ExprLike, b: ExprLike) -> Expr:
    """`b if b < a else a`."""
    return binary("min", a, b)


def maximum_nan(a: ExprLike, b: ExprLike) -> Expr:
    """The larger operand, and of floats NaN where either is."""
    return _with_nan("max_nan", a, b)


def minimum_nan(a: ExprLike, b: ExprLike) -> Expr:
    """The smaller operand, and of floats NaN where either is."""
    return _with_nan("min_nan", a, b)


def _with_nan(op: str, a: ExprLike, b: ExprLike) -> Expr:
    is_float = any(isinstance(e, Expr) and e.dtype.is_float for e in (a, b))
    return binary(op if is_float else WITHOUT_NAN[op], a, b)


def select(cond: Expr, a: ExprLike, b: ExprLike) -> Expr:
    """a where cond else b; both are evaluated. Raises TypeError where `cond` is no bool expression, and for arms of two
    dtypes."""
    if not isinstance(cond, Expr) or cond.dtype != BOOL:
        what = cond.dtype if isinstance(cond, Expr) else repr(cond)
        raise TypeError(f"select: the condition is {what}, not a bool expression: compare by <, <=, .eq() and .ne()")
    x, y = operands(a, b)
    if x.dtype != y.dtype:
        raise TypeError(f"select: arms of different dtypes: {x.dtype} and {y.dtype}")
    return Select(cond, x, y)


def all_of(*conds: Expr) -> Expr:
    """Conjunction; true for none."""
    return _joined("and", conds, if_none=True)


def any_of(*conds: Expr) -> Expr:
    """Disjunction; false for none."""
    return _joined("or", conds, if_none=False)


def _joined(op: str, conds: tuple[Expr, ...], *, if_none: bool) -> Expr:
    result: Expr | None = None
    for c in conds:
        if c.dtype != BOOL:
            raise TypeError(f"{'all_of' if op == 'and' else 'any_of'}: an operand of {c.dtype}")
        result = c if result is None else Binary(op, result, c)  # not `&`, which walks down to the type of `result`
    return Const(if_none, BOOL) if result is None else result
