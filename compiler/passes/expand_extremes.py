"""max and min of floats as selections: shader languages define NaN otherwise than this IR."""

from __future__ import annotations

from dataclasses import replace

from ..ir.nodes import Binary, Expr, Kernel, Select
from ..ir.rewrite import rewrite


def expand_extremes(kernel: Kernel) -> Kernel:
    """max(a, b)   ->   select(a < b, b, a)          (floats)"""

    def rule(n: object) -> Expr | None:
        match n:
            case Binary("max" | "min" as op, a, b) if a.dtype.is_float:
                return Select(Binary("<", a, b) if op == "max" else Binary("<", b, a), b, a)
        return None

    body = rewrite(kernel.body, rule)
    return kernel if body is kernel.body else replace(kernel, body=body)


def extreme_of(e: Expr) -> tuple[str, Expr, Expr] | None:
    """max or min and its operands, if `e` is one, or a selection that one was expanded to."""
    match e:
        case Binary("max" | "min" as op, a, b):
            return op, a, b
        case Select(Binary("<", x, y), b, a) if x is a and y is b:
            return "max", a, b
        case Select(Binary("<", x, y), b, a) if x is b and y is a:
            return "min", a, b
    return None
