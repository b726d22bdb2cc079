"""float32 by its bits, for targets whose compilers take liberties with the arithmetic of floats."""

from __future__ import annotations

from ..dtypes import F32, I32
from ..ir.nodes import Binary, Bitcast, Cast, Const, Expr, Select

INFINITY = 0x7F800000
HALF_OVERFLOW = 0x477FEFFF
"""The bits of the largest float32 that rounds to a finite half."""


def size_bits(x: Expr) -> Expr:
    """The bits of |x|, in the order of the numbers that they stand for."""
    return Bitcast(I32, x) & 0x7FFFFFFF


def round_to_half(x: Expr) -> Expr:
    """The float16 nearest to float32 `x`, halfway to even, as a float32: what is stored where a half is meant."""
    sign, size = Bitcast(I32, x) & -(1 << 31), size_bits(x)
    odd = Binary("shr", size, Const(13)) & 1
    normal = (size + 0xFFF + odd) & ~0x1FFF
    # Below 2**-14 halves are multiples of 2**-24: adding 0.5 lets the float32 adder round to them.
    count = Bitcast(I32, Bitcast(F32, size) + 0.5) - 0x3F000000
    small = Bitcast(I32, Cast(F32, count) * 2.0**-24)
    rounded = Select(size < 0x38800000, small, normal)
    beyond = Select(size > INFINITY, Const(0x7FC00000), Const(INFINITY))
    return Bitcast(F32, Select(size > HALF_OVERFLOW, beyond, rounded) | sign)
