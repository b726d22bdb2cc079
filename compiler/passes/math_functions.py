"""float32 functions from arithmetic, each on one lane or several.

Polynomial coefficients are those of the Cephes library's single-precision functions (S. Moshier, 1992) unless said
otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..dtypes import F32, F64, I32, I64, DType
from ..ir.lanes import Splat
from ..ir.nodes import Binary, Bitcast, Cast, Const, Expr, Select, Unary
from ..ir.scalar_ops import apply_unary
from ..ir.unlikely import Unlikely


@dataclass(frozen=True, slots=True)
class Num:
    """An expression with its number of lanes; Python numbers mix in as constants."""

    e: Expr
    lanes: int

    def of(self, value: float | int | Num, dtype: DType | None = None) -> Num:
        if isinstance(value, Num):
            return value
        dtype = dtype or self.e.dtype
        constant: Expr = Const(float(value) if dtype.is_float else int(value), dtype)
        return Num(Splat(constant, self.lanes) if self.lanes > 1 else constant, self.lanes)

    def op(self, op: str, other: float | Num) -> Num:
        return Num(Binary(op, self.e, self.of(other).e), self.lanes)

    def __add__(self, other: float | Num) -> Num:
        return self.op("+", other)

    def __sub__(self, other: float | Num) -> Num:
        return self.op("-", other)

    def __mul__(self, other: float | Num) -> Num:
        return self.op("*", other)

    def __truediv__(self, other: float | Num) -> Num:
        return self.op("/", other)

    def __and__(self, other: Num) -> Num:
        return self.op("and", other)

    def __or__(self, other: Num) -> Num:
        return self.op("or", other)

    def __lt__(self, other: float | Num) -> Num:
        return self.op("<", other)

    def eq(self, other: float | Num) -> Num:
        return self.op("==", other)

    def unary(self, op: str) -> Num:
        return Num(Unary(op, self.e), self.lanes)

    def rounded(self) -> Num:
        """The nearest whole number. Of a constant it is one: PoCL 3.1 takes rint of a constant beyond int32 for an
        undefined value."""
        constant = self.e.a if isinstance(self.e, Splat) else self.e
        if isinstance(constant, Const):
            return self.of(apply_unary("round", np.asarray(constant.value, constant.dtype.numpy)).item())
        return self.unary("round")

    def abs(self) -> Num:
        return self.unary("abs")

    def at_least(self, bound: float) -> Num:
        return self.op("max", bound)

    def at_most(self, bound: float) -> Num:
        return self.op("min", bound)

    def where(self, a: float | Num, b: float | Num, like: Num) -> Num:
        """`a` where this condition holds, else `b`; constants have the type of `like`."""
        return Num(Select(self.e, like.of(a).e, like.of(b).e), self.lanes)

    def cast(self, dtype: DType) -> Num:
        return Num(Cast(dtype, self.e), self.lanes)

    def bits(self, dtype: DType) -> Num:
        return Num(Bitcast(dtype, self.e), self.lanes)


def polynomial(x: Num, *coefficients: float) -> Num:
    """Horner's rule, highest power first."""
    result = x.of(coefficients[0])
    for c in coefficients[1:]:
        result = result * x + c
    return result


def copysign(size: Num, sign: Num) -> Num:
    """`size` with the sign of `sign`, both float32 or float64; size >= 0."""
    dtype = sign.e.dtype
    integer = I32 if dtype == F32 else I64
    top = sign.bits(integer).op("and", -(1 << (dtype.bits - 1)))
    return size.bits(integer).op("or", top).bits(dtype)


def power_of_two(n: Num) -> Num:
    """2**n for an int32 n within -126..127."""
    return (n + 127).op("shl", 23).bits(F32)


ROUNDER, ROUNDER_BITS = 1.5 * 2.0**23, 0x4B400000
"""A float32 of up to 2**22 rounds to a whole number, halves to even, by adding the first; the sum's low bits are then
that number, above the second."""

LARGEST_ROUNDED = 1 << 22


def nearest(x: Num) -> Num:
    """The int32 nearest to a float32 of at most LARGEST_ROUNDED, halves to even: an addition in place of a rounding and
    a conversion."""
    return (x + ROUNDER).bits(I32) - ROUNDER_BITS


def is_whole(e: Expr) -> bool:
    """Whether no element of a float has a fraction: it was rounded, and integers were added."""
    match e:
        case Unary("round"):
            return True
        case Binary("+", a, b):
            return is_whole(a) and is_whole(b)
        case Splat(a, _) | Cast(_, Splat(a, _)):
            return a.dtype.is_int or is_whole(a)
        case Cast(_, a):
            return a.dtype.is_int
    return False


def exp(x: Num) -> Num:
    """1 ulp; overflows to infinity, underflows through subnormals to 0.

    exp(r) = 1 + r + r**2 p(r) on |r| <= ln(2) / 2, p minimax for the relative error (3e-9).
    """
    x = x.at_most(89.0).at_least(-104.0)
    shifted = x * 1.4426950408889634 + ROUNDER
    n = shifted - ROUNDER
    r = n * -0.693359375 + x
    r = n * 2.12194440e-4 + r
    p = polynomial(r, 1.38145184610040e-3, 8.36874451488256e-3, 4.16683927178383e-2, 1.66665211319923e-1, 0.49999994)
    y = p * (r * r) + r + 1.0
    # 2**n in two factors, for n beyond the exponents of float32; what ROUNDER has in the bits is shifted out.
    k = shifted.bits(I32)
    half = k.op("shr", 1)
    return y * power_of_two(half) * power_of_two(k - half)


def log(x: Num) -> Num:
    """1 ulp; -inf at 0, NaN below, subnormals included: tested on the bits, since devices flush subnormals to zero."""
    whole = x.bits(I32)
    tiny = whole < 0x00800000
    scaled = Num(Select(tiny.e, whole.cast(F32).e, x.e), x.lanes)  # a subnormal as a multiple of 2**-149
    bits = scaled.bits(I32)
    e = bits.op("shr", 23).op("and", 255) - 126
    m = bits.op("and", 0x007FFFFF).op("or", 0x3F000000).bits(F32)
    small = m < 0.707106781186547524
    e = Num(Select(small.e, (e - 1).e, e.e), x.lanes)
    f = small.where(m + m, m, m) - 1.0
    n = e.cast(F32) - tiny.where(149.0, 0.0, x)
    z = f * f
    p = polynomial(
        f,
        7.0376836292e-2,
        -1.1514610310e-1,
        1.1676998740e-1,
        -1.2420140846e-1,
        1.4249322787e-1,
        -1.6668057665e-1,
        2.0000714765e-1,
        -2.4999993993e-1,
        3.3333331174e-1,
    )
    y = p * f * z
    y = n * -2.12194440e-4 + y
    y = z * -0.5 + y
    y = f + y
    y = n * 0.693359375 + y
    y = (whole < 0x7F800000).where(y, x, x)  # infinity and NaN
    y = (whole < 0).where(float("nan"), y, x)
    return whole.op("and", 0x7FFFFFFF).eq(0).where(float("-inf"), y, x)


def tanh(x: Num) -> Num:
    """2 ulp."""
    a = x.abs()
    z = x * x
    p = polynomial(z, -5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1)
    near = p * z * x + x
    # Beyond 9 the result rounds to 1; the bound keeps exp finite.
    far = x.of(1.0) - x.of(2.0) / (exp(a.at_most(10.0) * 2.0) + 1.0)
    return (a < 0.625).where(near, copysign(far, x), x)


def erf(x: Num) -> Num:
    """4e-7 absolute: x times a rational function of x**2, minimax on |x| <= 4, where erf rounds to 1 beyond."""
    c = x.at_most(4.0).at_least(-4.0)
    z = c * c
    p = polynomial(
        z,
        -2.72614225801306e-10,
        2.77068142495902e-08,
        -2.10102402082508e-06,
        -5.69250639462346e-05,
        -7.34990630326855e-04,
        -2.95459980854025e-03,
        -1.60960333262415e-02,
    )
    q = polynomial(
        z,
        -1.45660718464996e-05,
        -2.13374055278905e-04,
        -1.68282697438203e-03,
        -7.37332916720468e-03,
        -1.42647390514189e-02,
    )
    return (c * p / q).at_most(1.0).at_least(-1.0)


def asin(x: Num) -> Num:
    """3 ulp; NaN outside [-1, 1]."""
    a = x.abs()
    big = Num(Binary("<", a.of(0.5).e, a.e), x.lanes)
    z = big.where((a.of(1.0) - a) * 0.5, a * a, x)
    s = big.where(z.unary("sqrt"), a, x)
    p = polynomial(z, 4.2163199048e-2, 2.4181311049e-2, 4.5470025998e-2, 7.4953002686e-2, 1.6666752422e-1)
    y = p * z * s + s
    return copysign(big.where(y * -2.0 + math.pi / 2, y, x), x)


def acos(x: Num) -> Num:
    """3 ulp; NaN outside [-1, 1]."""
    a = x.abs()
    big = Num(Binary("<", a.of(0.5).e, a.e), x.lanes)
    near = asin(((a.of(1.0) - a) * 0.5).unary("sqrt")) * 2.0
    negative = x < 0.0
    far = negative.where(near * -1.0 + math.pi, near, x)
    return big.where(far, asin(x) * -1.0 + math.pi / 2, x)


def atan(x: Num) -> Num:
    """3 ulp."""
    a = x.abs()
    far = Num(Binary("<", a.of(2.414213562373095).e, a.e), x.lanes)
    middle = Num(Binary("<", a.of(0.4142135623730950).e, a.e), x.lanes)
    t = far.where(a.of(-1.0) / a, middle.where((a - 1.0) / (a + 1.0), a, x), x)
    start = far.where(math.pi / 2, middle.where(math.pi / 4, 0.0, x), x)
    z = t * t
    p = polynomial(z, 8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1)
    return copysign(start + (p * z * t + t), x)


def sinh(x: Num) -> Num:
    """4 ulp: a polynomial up to 1, where the difference of exponentials would cancel."""
    a = x.abs()
    z = x * x
    near = polynomial(z, 2.03721912945e-4, 8.33028376239e-3, 1.66667160211e-1) * z * x + x
    half, inverse = _half_exp(a)
    return (a < 1.0).where(near, copysign(half - inverse, x), x)


def cosh(x: Num) -> Num:
    """3 ulp."""
    half, inverse = _half_exp(x.abs())
    return half + inverse


def _half_exp(a: Num) -> tuple[Num, Num]:
    """(exp(a) / 2, exp(-a) / 2); exp(a) itself may overflow where its half does not."""
    root = exp(a * 0.5)
    half = root * 0.5 * root
    return half, a.of(0.25) / half


def asinh(x: Num) -> Num:
    """3 ulp."""
    a = x.abs()
    z = x * x
    near = polynomial(z, 2.0122003309e-2, -4.2699340972e-2, 7.4847586088e-2, -1.6666288134e-1) * z * x + x
    far = log(a + (z + 1.0).unary("sqrt"))
    huge = Num(Binary("<", a.of(1e15).e, a.e), x.lanes)
    far = huge.where(log(a) + math.log(2.0), far, x)
    return (a < 0.5).where(near, copysign(far, x), x)


def acosh(x: Num) -> Num:
    """4 ulp; NaN below 1."""
    near_one = x - 1.0
    u = near_one + (near_one * (x + 1.0)).unary("sqrt")  # acosh(x) = log(1 + u)
    huge = Num(Binary("<", x.of(1e15).e, x.e), x.lanes)
    far = log(huge.where(x, u + 1.0, x)) + huge.where(math.log(2.0), 0.0, x)
    y = (u < 2.0).where(_log1p_near(u), far, x)
    return (x < 1.0).where(float("nan"), y, x)


def atanh(x: Num) -> Num:
    """2 ulp; infinite at 1 and -1, NaN beyond."""
    far = log((x + 1.0) / (x.of(1.0) - x)) * 0.5
    return (x.abs() < 0.5).where(_atanh_near(x), far, x)


def _atanh_near(x: Num) -> Num:
    """For |x| <= 0.5."""
    z = x * x
    p = polynomial(z, 1.81740078349e-1, 8.24370301058e-2, 1.46691431730e-1, 1.99782164500e-1, 3.33337300303e-1)
    return p * z * x + x


def log1p(x: Num) -> Num:
    """log(1 + x), 3 ulp; -inf at -1, NaN below."""
    far = log(x + 1.0)
    outside = x.of(4 / 3).op("<=", (x - 2 / 3).abs())
    return Num(Unlikely(outside.e, far.e, _log1p_near(x).e), x.lanes)


def _log1p_near(x: Num) -> Num:
    """log(1 + x) = 2 atanh(x / (2 + x)), for -2/3 <= x <= 2."""
    return _atanh_near(x / (x + 2.0)) * 2.0


def _positive_power(a: Num, y: Num) -> Num:
    """a**y for a >= 0, 1e-5 relative for results up to 1e30."""
    return exp(y * log(a))


def power(x: Num, y: Num, positive_power: Callable[[Num, Num], Num] = _positive_power) -> Num:
    """x**y by |x|**y, for which `positive_power` is by default that of float32; zeros, infinities and NaN as pow of
    IEEE 754-2019: x**0 and 1**y are 1 for every x and y, (-1)**y for infinite y, and of negative numbers only zero and
    infinity have a power that is not whole."""
    a = x.abs()
    size = a.eq(1.0).where(1.0, positive_power(a, y), x)
    whole = y.eq(y.rounded())
    half = y * 0.5
    odd = Num(Unary("not", half.eq(half.unary("trunc")).e), x.lanes)
    signed = (whole & odd).where(size * -1.0, size, x)
    real = whole | a.eq(0.0) | a.eq(float("inf"))
    negative = real.where(signed, float("nan"), x)
    below = x.bits(I64 if x.e.dtype == F64 else I32) < 0
    result = below.where(negative, size, x)
    return y.eq(0.0).where(1.0, result, x)
