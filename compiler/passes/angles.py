"""Sine, cosine and tangent of any float32, by the remainder of the angle by pi/2.

Up to LARGE in float32: pi/2 in parts whose products with the quotient are exact (W. Cody and W. Waite, Software Manual
for the Elementary Functions, 1980). From there on in integers: of 1/(2 pi) those bits that count at the exponent of the
angle, times its significand (M. Payne and R. Hanek, Radian reduction for trigonometric functions, 1983).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

from ..dtypes import F32, I32, U32
from ..ir.unlikely import Unlikely
from .float_bits import INFINITY
from .math_functions import ROUNDER, Num, polynomial

LARGE = 0x46000000
"""The bits of 8192.0, the first angle that is reduced in integers."""

TURNS = (0x000000A2, 0xF9836E4E, 0x441529FC, 0x2757D1F5, 0x34DDC0DB, 0x6295993C, 0x439041FE)
"""1/(2 pi), its first bit being bit ZEROS: for the least and the largest angle, 96 bits from one of its 128 first ones
on."""

ZEROS = 22

QUARTER_PARTS = (1.5703125, 4.837512969970703125e-4, 7.549533620476723e-8, 2.5633440682570896e-12)
"""pi/2, of 8, 11, 11 and 24 bits: up to LARGE quotients have 13 bits."""

Quadrant = tuple[Num, Num]
"""(r, k): an angle is (k + a multiple of 4) * pi/2 + r with |r| <= pi/4."""


def sin(x: Num) -> Num:
    """2 ulp."""
    return _by_quadrant(x, sine_in_quadrant)


def cos(x: Num) -> Num:
    """2 ulp."""
    return _by_quadrant(x, lambda r, k: sine_in_quadrant(r, k + 1))


def tan(x: Num) -> Num:
    """4 ulp."""
    return _by_quadrant(x, lambda r, k: sine_in_quadrant(r, k) / sine_in_quadrant(r, k + 1))


def sine_in_quadrant(r: Num, k: Num) -> Num:
    """sin(k * pi/2 + r) for |r| <= pi/4."""
    odd, negative = k.op("and", 1).eq(1), k.op("and", 2).eq(2)
    y = odd.where(_cosine(r), _sine(r), r)
    return negative.where(y * -1.0, y, r)


def _sine(r: Num) -> Num:
    z = r * r
    return polynomial(z, -1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1) * z * r + r


def _cosine(r: Num) -> Num:
    z = r * r
    return polynomial(z, 2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2) * z * z + z * -0.5 + 1.0


def _by_quadrant(x: Num, function: Callable[[Num, Num], Num]) -> Num:
    """The function of the quadrant of `x`; NaN where that is infinite or NaN, by a comparison of its bits: compilers of
    shaders may assume that there are none. Both arms end alike, which `branch_unlikely` makes use of."""
    size = x.bits(I32).op("and", 0x7FFFFFFF)
    r, k = large_quadrant(x)
    far = function((size < INFINITY).where(r, float("nan"), x), k)
    return Num(Unlikely(size.of(LARGE).op("<=", size).e, far.e, function(*small_quadrant(x)).e), x.lanes)


def small_quadrant(x: Num) -> Quadrant:
    """For |x| < 8192; to 1e-7 of r, or 1e-14."""
    shifted = x * (2.0 / math.pi) + ROUNDER
    n = shifted - ROUNDER
    r = x
    for part in QUARTER_PARTS:
        r = n * -part + r
    return r, shifted.bits(I32)


def large_quadrant(x: Num) -> Quadrant:
    """For finite |x| >= 8192; to 1e-7 of r."""
    bits = x.bits(I32)
    size = bits.op("and", 0x7FFFFFFF)
    significand = size.op("and", 0x007FFFFF).op("or", 0x00800000).bits(U32)
    high, middle, low = _turns_from(size.op("shr", 23) - (150 - ZEROS), significand)
    # Of the product, which has 120 bits, those 64 that are the fraction of a turn.
    carried = _upper_half(significand, low)
    lower = significand * middle + carried
    carry = (lower < carried).where(1, 0, significand)
    turn = significand * high + _upper_half(significand, middle) + carry
    # Its first two bits are the quadrant, the others that of the next one if they are at least a half of it.
    fraction = turn.op("shl", 2).op("or", lower.op("shr", 30))
    k = (turn.op("shr", 30) + fraction.op("shr", 31)).bits(I32)
    beyond = fraction.bits(I32).op("shr", 31)  # all bits, or none
    upper = fraction.bits(I32).op("xor", beyond).cast(F32)
    rest = lower.op("shl", 2).bits(I32).op("xor", beyond).bits(U32).op("shr", 8).bits(I32).cast(F32)
    r = upper * (math.pi / 2 * 2.0**-32) + rest * (math.pi / 2 * 2.0**-56)
    sign = bits.op("shr", 31)
    r = r.bits(I32).op("or", beyond.op("xor", sign).op("and", -(1 << 31))).bits(F32)
    return r, k.op("xor", sign) - sign


def _turns_from(first: Num, like: Num) -> tuple[Num, Num, Num]:
    """The 96 bits of TURNS from bit `first` on, 0 <= first < 128."""
    words = [like.of(word) for word in TURNS]
    for bit, apart in ((64, 2), (32, 1)):
        on = first.op("and", bit).eq(bit)
        words = [on.where(later, word, like) for word, later in zip(words, words[apart:], strict=False)]
    shift = first.op("and", 31).bits(U32)
    back = shift.of(31) - shift
    # In two shifts: by 32 at once is undefined.
    turns = [a.op("shl", shift).op("or", b.op("shr", 1).op("shr", back)) for a, b in pairwise(words)]
    return turns[0], turns[1], turns[2]


def _upper_half(a: Num, b: Num) -> Num:
    """The upper 32 bits of a * b, a < 2**24, from products of halves."""
    a_high, a_low = a.op("shr", 16), a.op("and", 0xFFFF)
    b_high, b_low = b.op("shr", 16), b.op("and", 0xFFFF)
    one = a_low * b_high + (a_low * b_low).op("shr", 16)
    other = a_high * b_low + one.op("and", 0xFFFF)
    return a_high * b_high + one.op("shr", 16) + other.op("shr", 16)
