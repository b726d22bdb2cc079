"""Conversions of floats to integers that GPUs leave open: out of range, and of NaN."""

from __future__ import annotations

from dataclasses import replace

from ..dtypes import I32, U32
from ..ir.lanes import Splat, lanes_of
from ..ir.nodes import Binary, Cast, Const, Expr, Kernel, Select
from ..ir.rewrite import rewrite
from .clamp_conversions import is_clamped
from .legalise_floats import is_nan
from .math_functions import Num


def saturate_casts(kernel: Kernel) -> Kernel:
    """int32(x)   ->   select(x is none, 0, select(2147483648 <= x, 2147483647, int32(clamp(x))))

    The clamp is to what float32 has between the bounds. NaN is detected on the bits of `x`. What was clamped before
    stays as it is.
    """

    def rule(n: object) -> Expr | None:
        match n:
            case Cast(to, a) if a.dtype.is_float and to in (I32, U32):
                return _saturated(n, a)
        return None

    body = rewrite(kernel.body, rule, {Cast})
    return kernel if body is kernel.body else replace(kernel, body=body)


def _saturated(cast: Cast, a: Expr) -> Expr:
    to, lanes = cast.type, lanes_of(a)

    def like(value: float) -> Expr:
        c = Const(float(value), a.dtype)
        return Splat(c, lanes) if lanes > 1 else c

    def whole(value: int) -> Expr:
        c = Const(value, to)
        return Splat(c, lanes) if lanes > 1 else c

    low, beyond = (-(2.0**31), 2.0**31) if to == I32 else (0.0, 2.0**32)
    highest = beyond - (128 if to == I32 else 256)
    if is_clamped(a, int(low), int(highest)):
        return cast
    clamped = Binary("min", Binary("max", a, like(low)), like(highest))
    result: Expr = Select(Binary("<=", like(beyond), a), whole(int(beyond) - 1), Cast(to, clamped))
    return Select(is_nan(Num(a, lanes)).e, whole(0), result)
