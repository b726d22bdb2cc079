"""float32 by its bits, for targets whose compilers take liberties with the arithmetic of floats."""

from __future__ import annotations

from ..dtypes import F32, I32
from ..ir.nodes import Bitcast, Expr
from .math_functions import Num

INFINITY = 0x7F800000
HALF_OVERFLOW = 0x477FEFFF
"""The bits of the largest float32 that rounds to a finite half."""


def size_bits(x: Expr) -> Expr:
    """The bits of |x|, in the order of the numbers that they stand for."""
    return Bitcast(I32, x) & 0x7FFFFFFF


def round_to_half(x: Num) -> Num:
    """The float16 nearest to float32 `x`, halfway to even, as a float32: what is stored where a half is meant."""
    bits = x.bits(I32)
    sign, size = bits.op("and", -(1 << 31)), bits.op("and", 0x7FFFFFFF)
    odd = size.op("shr", 13).op("and", 1)
    normal = (size + 0xFFF + odd).op("and", ~0x1FFF)
    # Below 2**-14 halves are multiples of 2**-24: adding 0.5 lets the float32 adder round to them.
    count = (size.bits(F32) + 0.5).bits(I32) - 0x3F000000
    small = (count.cast(F32) * 2.0**-24).bits(I32)
    rounded = (size < 0x38800000).where(small, normal, size)
    beyond = (size.of(INFINITY) < size).where(0x7FC00000, INFINITY, size)
    return (size.of(HALF_OVERFLOW) < size).where(beyond, rounded, size).op("or", sign).bits(F32)
