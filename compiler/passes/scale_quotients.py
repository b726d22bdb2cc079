"""Divisors beyond 2**126, for languages that compute a quotient by a reciprocal."""

from __future__ import annotations

from dataclasses import replace

from ..dtypes import F32
from ..ir.lanes import lanes_of
from ..ir.nodes import Binary, Expr, Kernel, Unary
from ..ir.rewrite import rewrite
from .legalise_floats import size_of
from .lower_math import OPERATIONS, constant_value
from .math_functions import Num

LARGE = 0x7E000000
"""The bits of 2**125."""


def scale_quotients(kernel: Kernel) -> Kernel:
    """a / b   ->   (a * s) / (b * s), s = 1/8 where |b| is beyond 2**125, else 1;   atanh(x)   ->   atanh(clamp(x))

    The reciprocal of a larger number is subnormal, which devices flush to zero: the accuracy of a quotient is given for
    divisors up to 2**126 only (WGSL, section 15.7.4.1). Constants and roots are no such divisors, and a quotient of a
    small constant by one is subnormal itself.
    """

    def rule(n: object) -> Expr | None:
        match n:
            case Binary("/", a, b) if a.dtype == F32 and not _has_reciprocal(a, b):
                lanes = lanes_of(b)
                divisor = Num(b, lanes)
                scale = (size_of(divisor).of(LARGE) < size_of(divisor)).where(0.125, 1.0, divisor)
                return (Num(a, lanes) * scale / (divisor * scale)).e
            case Unary("atanh", a) if a.dtype == F32:
                x = Num(a, lanes_of(a))
                return Unary("atanh", x.op("max", -2.0).op("min", 2.0).e)
        return None

    body = rewrite(kernel.body, rule, OPERATIONS)
    return kernel if body is kernel.body else replace(kernel, body=body)


def _has_reciprocal(dividend: Expr, divisor: Expr) -> bool:
    value = constant_value(dividend)
    is_root = isinstance(divisor, Unary) and divisor.op == "sqrt"
    return is_root or constant_value(divisor) is not None or (value is not None and abs(value) <= 1)
