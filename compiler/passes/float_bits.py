"""Questions to the bits of a float32, which compilers of shaders answer rightly whatever they assume of floats: that
there are no infinities and NaNs, that subnormal numbers are zero, that sums may be taken in another order."""

from __future__ import annotations

from ..dtypes import BOOL, F32, I32
from ..ir.nodes import Binary, Bitcast, Cast, Const, Expr, Select, Unary

INFINITY = 0x7F800000
SIZE = 0x7FFFFFFF
HALF_OVERFLOW = 0x477FEFFF
"""The bits of the largest float32 that rounds to a finite half."""


def bits_of(x: Expr) -> Expr:
    return Bitcast(I32, x)


def size_bits(x: Expr) -> Expr:
    """The bits of |x|, in the order of the numbers that they stand for."""
    return bits_of(x) & SIZE


def is_nan(x: Expr) -> Expr:
    return size_bits(x) > INFINITY


def is_infinite(x: Expr) -> Expr:
    return size_bits(x).eq(INFINITY)


def is_negative(x: Expr) -> Expr:
    """Whether the sign is set: of -0.0, too."""
    return bits_of(x) < 0


def shifted(op: str, x: Expr, count: int) -> Expr:
    return Binary(op, x, Const(count, x.dtype))


def round_to_half(x: Expr) -> Expr:
    """The float16 nearest to float32 `x`, halfway to even, as a float32: what is stored where a half is meant."""
    bits, size = bits_of(x), size_bits(x)
    sign = bits & -(1 << 31)
    odd = shifted("shr", size, 13) & 1
    normal = (size + 0xFFF + odd) & ~0x1FFF
    # Below 2**-14 halves are multiples of 2**-24: adding 0.5 lets the float32 adder round to them.
    count = bits_of(Bitcast(F32, size) + 0.5) - 0x3F000000
    small = bits_of(Cast(F32, count) * 2.0**-24)
    rounded = Select(size < 0x38800000, small, normal)
    beyond = Select(size > INFINITY, Const(0x7FC00000), Const(INFINITY))
    return Bitcast(F32, Select(size > HALF_OVERFLOW, beyond, rounded) | sign)


def negated(cond: Expr) -> Expr:
    assert cond.dtype == BOOL
    return Unary("not", cond)
