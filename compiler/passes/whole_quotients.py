"""Quotients that are whole numbers, where a language allows more rounding of a division than IEEE 754 does.

WGSL, GLSL and OpenCL give 2.5 units in the last place (WGSL, section 15.7.4.1), and compilers multiply by the
reciprocal of a constant: -84 / 7 may be -12.000001, which rounds down to -13.
"""

from __future__ import annotations

from dataclasses import replace

from ..dtypes import F32
from ..ir.lanes import lanes_of
from ..ir.nodes import Binary, Cast, Expr, Kernel, Unary
from ..ir.rewrite import rewrite
from .lower_math import constant_value
from .math_functions import Num

DIVIDED = frozenset({Unary, Cast, Binary})
"""Kinds of expressions that are quotients, or round one."""


def whole_quotients(kernel: Kernel) -> Kernel:
    """a / 7.0   ->   k * 7.0 == a ? k : a / 7.0, k = round(a / 7.0); likewise floor(a / b), ceil, trunc and casts to
    integers, where b is a whole number

    Products of others are rounded: where one equals a, the quotient may be another number than k. A quotient by a
    constant may be rounded in another kernel.
    """

    def rule(n: object) -> Expr | None:
        match n:
            case Binary("/", a, b) if a.dtype == F32 and _is_whole(constant_value(b)):
                return _exact(a, b)
            case Unary("floor" | "ceil" | "trunc", Binary("/", a, b)) if a.dtype == F32 and constant_value(b) is None:
                return Unary(n.op, _exact(a, b))
            case Cast(to, Binary("/", a, b)) if to.is_int and a.dtype == F32 and constant_value(b) is None:
                return Cast(to, _exact(a, b))
        return None

    body = rewrite(kernel.body, rule, DIVIDED)
    return kernel if body is kernel.body else replace(kernel, body=body)


def _is_whole(value: float | None) -> bool:
    return value is not None and float(value).is_integer()


def _exact(a: Expr, b: Expr) -> Expr:
    x, y = Num(a, lanes_of(a)), Num(b, lanes_of(b))
    quotient = x / y
    nearest = quotient.unary("round")
    is_multiple = (nearest * y).eq(x)
    if constant_value(b) is None:
        is_multiple &= y.unary("floor").eq(y)
    return is_multiple.where(nearest, quotient, x).e
