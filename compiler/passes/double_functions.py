"""float64 functions from arithmetic, each on one lane or several: those of the Cephes library in double precision
(S. Moshier, 1992). Errors are in units of the last place, against more precise arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable

from ..dtypes import F64, I64
from ..ir.nodes import Select
from . import math_functions
from .math_functions import Num, copysign, polynomial

ROUNDER = 1.5 * 2.0**52
"""A float64 of up to 2**51 rounds to a whole number by adding this; the sum's low bits are then that number."""


def _power_of_two(n: Num) -> Num:
    """2**n for an int64 n within -1022..1023."""
    return (n + 1023).op("shl", 52).bits(F64)


def exp(x: Num) -> Num:
    """2 ulp; overflows to infinity, underflows through subnormals to 0."""
    c = x.at_most(710.0).at_least(-746.0)
    shifted = c * 1.4426950408889634 + ROUNDER
    n = shifted - ROUNDER
    r = n * -0.693145751953125 + c
    r = n * -1.42860682030941723212e-6 + r
    z = r * r
    p = polynomial(z, 1.26177193074810590878e-4, 3.02994407707441961300e-2, 9.99999999999999999910e-1) * r
    q = polynomial(
        z, 3.00198505138664455042e-6, 2.52448340349684104192e-3, 2.27265548208155028766e-1, 2.00000000000000000005
    )
    y = p / (q - p) * 2.0 + 1.0
    k = shifted.bits(I64).op("shl", 12).op("shr", 12)
    half = k.op("shr", 1)
    return y * _power_of_two(half) * _power_of_two(k - half)


def log(x: Num) -> Num:
    """2 ulp; -inf at 0, NaN below."""
    whole = x.bits(I64)
    tiny = whole < 1 << 52
    bits = Num(Select(tiny.e, (x * 2.0**54).e, x.e), x.lanes).bits(I64)
    exponent = bits.op("shr", 52).op("and", 2047) - 1022
    m = bits.op("and", (1 << 52) - 1).op("or", 0x3FE << 52).bits(F64)
    small = m < 0.70710678118654752440
    e = Num(Select(small.e, (exponent - 1).e, exponent.e), x.lanes).cast(F64) - tiny.where(54.0, 0.0, x)
    f = small.where(m + m, m, m) - 1.0
    z = f * f
    p = polynomial(
        f,
        1.01875663804580931796e-4,
        4.97494994976747001425e-1,
        4.70579119878881725854,
        1.44989225341610930846e1,
        1.79368678507819816313e1,
        7.70838733755885391666,
    )
    q = polynomial(
        f,
        1.0,
        1.12873587189167450590e1,
        4.52279145837532221105e1,
        8.29875266912776603211e1,
        7.11544750618563894466e1,
        2.31251620126765340583e1,
    )
    y = e * -2.121944400546905827679e-4 + f * (z * p / q)
    y = z * -0.5 + y
    y = e * 0.693359375 + (f + y)
    y = (whole < 0x7FF << 52).where(y, x, x)  # infinity and NaN
    y = (x < 0.0).where(float("nan"), y, x)
    return x.eq(0.0).where(float("-inf"), y, x)


def log1p(x: Num) -> Num:
    """log(1 + x), 3 ulp; -inf at -1, NaN below. What rounding 1 + x takes away is added to the logarithm."""
    one_more = x + 1.0
    lost = (x - (one_more - 1.0)) / one_more
    positive = x.of(0.0).op("<", one_more).op("and", one_more < math.inf)
    return log(one_more) + positive.where(lost, 0.0, x)


def tanh(x: Num) -> Num:
    """2 ulp."""
    a = x.abs()
    z = x * x
    p = polynomial(z, -9.64399179425052238628e-1, -9.92877231001918586564e1, -1.61468768441708447952e3)
    q = polynomial(z, 1.0, 1.12811678491632931402e2, 2.23548839060100448583e3, 4.84406305325125486048e3)
    near = z * p / q * x + x
    # Beyond 20 the result rounds to 1; the bound keeps exp finite.
    far = x.of(1.0) - x.of(2.0) / (exp(a.at_most(25.0) * 2.0) + 1.0)
    return (a < 0.625).where(near, copysign(far, x), x)


def erf(x: Num) -> Num:
    """2e-16 absolute."""
    z = x * x
    p = polynomial(
        z,
        9.60497373987051638749,
        9.00260197203842689217e1,
        2.23200534594684319226e3,
        7.00332514112805075473e3,
        5.55923013010394962768e4,
    )
    q = polynomial(
        z,
        1.0,
        3.35617141647503099647e1,
        5.21357949780152679795e2,
        4.59432382970980127987e3,
        2.26290000613890934246e4,
        4.92673942608635921086e4,
    )
    a = x.abs()
    far = copysign(x.of(1.0) - _erfc(a.at_most(6.0)), x)
    return (a < 1.0).where(x * p / q, far, x)


def _erfc(a: Num) -> Num:
    """1 - erf(a) for 1 <= a <= 8."""
    p = polynomial(
        a,
        2.46196981473530512524e-10,
        5.64189564831068821977e-1,
        7.46321056442269912687,
        4.86371970985681366614e1,
        1.96520832956077098242e2,
        5.26445194995477358631e2,
        9.34528527171957607540e2,
        1.02755188689515710272e3,
        5.57535335369399327526e2,
    )
    q = polynomial(
        a,
        1.0,
        1.32281951154744992508e1,
        8.67072140885989742329e1,
        3.54937778887819891062e2,
        9.75708501743205489753e2,
        1.82390916687909736289e3,
        2.24633760818710981792e3,
        1.65666309194161350182e3,
        5.57535340817727675546e2,
    )
    return exp(a * a * -1.0) * p / q


def power(x: Num, y: Num) -> Num:
    """x**y, 1 ulp: whole powers of whole numbers that a float64 holds are exact."""
    return math_functions.power(x, y, _positive_power)


def _positive_power(a: Num, y: Num) -> Num:
    """a**y for a >= 0 by 2**(y * log2(a)), of which the exponent is a sum of two float64 (e_pow.c of FDLIBM, Sun
    Microsystems, 1993)."""
    high, low = _log2(a)
    y_within = y.at_most(2.0**70).at_least(-(2.0**70))  # beyond, all powers but those of 1 are 0 or infinite
    y_high = _high(y_within)
    rest = (y_within - y_high) * high + y_within * low
    whole = y_high * high
    z = (whole + rest).at_most(1100.0).at_least(-1200.0)
    within = z.abs() < 1100.0
    result = _exp2(within.where(whole, z, z), within.where(rest, 0.0, z), z)
    end = (y < 0.0).where(a.of(1.0) / a, a, a)
    result = (a.eq(0.0) | a.eq(math.inf)).where(end, result, a)
    return (a.eq(a) & y.eq(y)).where(result, math.nan, a)


def _high(x: Num) -> Num:
    """The upper 21 bits of a float64: products of two such numbers are exact."""
    return x.bits(I64).op("and", -1 << 32).bits(F64)


def _log2(a: Num) -> tuple[Num, Num]:
    """log2(a) of a positive number as the sum of two, of which the first has 21 bits; 2**-68 relative."""
    tiny = a < 2.0**-1022
    bits = tiny.where(a * 2.0**54, a, a).bits(I64)
    n = bits.op("shr", 52).cast(F64) - tiny.where(1023.0 + 54.0, 1023.0, a)
    m = bits.op("and", (1 << 52) - 1).op("or", 1023 << 52).bits(F64)
    # a = 2**n * m, where m is near 1 or 1.5.
    large, small = m.of(1.7320508075688772) < m, m < 1.2247448713915890
    m, n = large.where(m * 0.5, m, m), large.where(n + 1.0, n, n)
    near_one = large | small
    centre = near_one.where(1.0, 1.5, m)
    # s = (m - centre) / (m + centre), in two parts.
    difference, total = m - centre, m + centre
    inverse = m.of(1.0) / total
    s = difference * inverse
    s_high, total_high = _high(s), _high(total)
    total_low = m - (total_high - centre)
    s_low = inverse * ((difference - s_high * total_high) - s_high * total_low)
    # log(m / centre) = 2 s + 2/3 s**3 + ... = s * (3 + s**2 + r) * 2/3
    z = s * s
    r = z * z * polynomial(
        z,
        2.06975017800338417784e-1,
        2.30660745775561754067e-1,
        2.72728123808534006489e-1,
        3.33333329818377432918e-1,
        4.28571428578550184252e-1,
        5.99999999999994648725e-1,
    ) + s_low * (s_high + s)
    z = s_high * s_high
    factor = _high(z + 3.0 + r)
    factor_low = r - ((factor - 3.0) - z)
    u, v = s_high * factor, s_low * factor + factor_low * s
    p = _high(u + v)
    p_low = v - (p - u)
    # times 2 / (3 ln(2)), plus log2(centre) and n
    q = p * 9.61796700954437255859e-1
    of_centre = near_one.where(0.0, 5.84962487220764160156e-1, m)
    q_low = p * -7.02846165095275826516e-9 + p_low * 9.61796693925975554329e-1
    q_low = q_low + near_one.where(0.0, 1.35003920212974897128e-8, m)
    high = _high(((q + q_low) + of_centre) + n)
    return high, q_low - (((high - n) - of_centre) - q)


def _exp2(high: Num, low: Num, z: Num) -> Num:
    """2**(high + low), which is about `z`, within -1200..1100."""
    shifted = z + ROUNDER
    high = high - (shifted - ROUNDER)
    t = _high(high + low)
    u = t * 6.93147182464599609375e-1
    v = (low - (t - high)) * 6.93147180559945286227e-1 + t * -1.90465429995776804525e-9
    x = u + v
    rest = v - (x - u)
    p = x - x * x * polynomial(
        x * x,
        4.13813679705723846039e-8,
        -1.65339022054652515390e-6,
        6.61375632143793436117e-5,
        -2.77777777770155933842e-3,
        1.66666666666666019037e-1,
    )
    y = x.of(1.0) - ((x * p / (p - 2.0) - (rest + x * rest)) - x)
    k = shifted.bits(I64).op("shl", 12).op("shr", 12)
    half = k.op("shr", 1)
    return y * _power_of_two(half) * _power_of_two(k - half)


DOUBLE_FUNCTIONS: dict[str, Callable[[Num], Num]] = {
    "exp": exp,
    "log": log,
    "log1p": log1p,
    "tanh": tanh,
    "erf": erf,
}
"""By operator."""
