"""float64 to float32, for casts to fewer bits."""

from __future__ import annotations

from ..dtypes import F32, F64, I32
from .lanes import Splat, lanes_of
from .nodes import Binary, Bitcast, Cast, Const, Expr, Select, Unary


def round_to_odd(x: Expr) -> Expr:
    """Float64 `x` as the float32 next to it towards 0, with its last bit set where that is not `x`: to 22 bits and
    fewer this rounds as `x` does (Boldo and Melquiond, Emulation of FMA and correctly rounded sums, 2008). NaN
    stays."""
    lanes = lanes_of(x)
    one: Expr = Splat(Const(1), lanes) if lanes > 1 else Const(1)
    near = Cast(F32, x)
    wide, bits = Cast(F64, near), Bitcast(I32, near)
    is_larger = Binary("<", Unary("abs", x), Unary("abs", wide))
    towards_zero = Select(is_larger, Binary("-", bits, one), bits)
    inexact = Binary("or", Binary("<", wide, x), Binary("<", x, wide))
    return Bitcast(F32, Select(inexact, Binary("or", towards_zero, one), bits))
