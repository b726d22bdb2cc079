"""Scalar functions of expressions, each by a name of its own: what ir/scalar_ops.py lists, checked."""

from __future__ import annotations

from collections.abc import Callable

from ..ir.construct import unary
from ..ir.nodes import Expr, ExprLike, binary

Function = Callable[[Expr], Expr]


def power(a: ExprLike, b: ExprLike) -> Expr:
    """`a` to the power of `b`, of one type. Raises TypeError for operands that are not floats."""
    result = binary("pow", a, b)
    if not result.dtype.is_float:
        raise TypeError(f"pow takes floats, not {result.dtype}: cast the operands by .cast(F32)")
    return result


def absolute(a: Expr) -> Expr:
    """The magnitude of a number."""
    return unary("abs", a)


def _of_float(op: str) -> Function:
    def function(a: Expr) -> Expr:
        if not isinstance(a, Expr):
            raise TypeError(f"{op} takes an expression, not {type(a).__name__}: use Python's math for numbers")
        if not a.dtype.is_float:
            raise TypeError(f"{op} takes a float, not {a.dtype}: cast it by .cast(F32)")
        return unary(op, a)

    return function


exp, log, log1p, sqrt, erf = map(_of_float, ("exp", "log", "log1p", "sqrt", "erf"))
sin, cos, tan, asin, acos, atan = map(_of_float, ("sin", "cos", "tan", "asin", "acos", "atan"))
sinh, cosh, tanh, asinh, acosh, atanh = map(_of_float, ("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"))
floor, ceil, trunc, round_even = map(_of_float, ("floor", "ceil", "trunc", "round"))
isnan, isinf = map(_of_float, ("isnan", "isinf"))
