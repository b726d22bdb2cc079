"""Mathematics that survives compilers of shaders. They may take sums in another order, take subnormal numbers for zero
and assume that there are no NaNs and infinities; and there is no float64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..dtypes import F32, I32
from ..ir.lanes import Splat, lanes_of
from ..ir.nodes import Binary, Bitcast, Const, Expr, Kernel, Select, Unary
from ..ir.rewrite import rewrite
from .float_bits import INFINITY
from .lower_math import lower_math
from .math_functions import ROUNDER, Num, copysign, sine_in_quadrant

ROUNDER_BITS = 0x4B400000


def legalise_floats(kernel: Kernel) -> Kernel:
    """lower_math for devices: sin(x), fmod(x, y), isnan(x)   ->   float32 arithmetic and questions to the bits;
    x + 1.5 * 2**23 - 1.5 * 2**23   ->   the integer extracted from the bits, which no compiler simplifies."""
    body = rewrite(kernel.body, _before)
    lowered = lower_math(kernel if body is kernel.body else replace(kernel, body=body))
    body = rewrite(lowered.body, _after)
    return lowered if body is lowered.body else replace(lowered, body=body)


def _before(n: object) -> Expr | None:
    match n:
        case Unary(op, a) if op in FUNCTIONS and a.dtype == F32:
            return FUNCTIONS[op](Num(a, lanes_of(a))).e
        case Binary("fmod", a, b) if a.dtype == F32:
            return remainder(Num(a, lanes_of(a)), Num(b, lanes_of(b))).e
    return None


def _after(n: object) -> Expr | None:
    match n:
        case Binary("-", Binary("+", _, Const(x) | Splat(Const(x), _)) as total, Const(y) | Splat(Const(y), _)) if (
            x == y == ROUNDER
        ):
            return (Num(Bitcast(I32, total), lanes_of(total)) - ROUNDER_BITS).cast(F32).e
    return None


def _size(x: Num) -> Num:
    """The bits of |x|, in the order of the numbers that they stand for."""
    return x.bits(I32).op("and", 0x7FFFFFFF)


def is_nan(x: Num) -> Num:
    size = _size(x)
    return size.of(INFINITY) < size


def is_infinite(x: Num) -> Num:
    return _size(x).eq(INFINITY)


def _quadrant(x: Num) -> tuple[Num, Num]:
    """(r, k): x = k * pi/2 + r with |r| <= pi/4; pi/2 in three parts, whose products with k are exact up to |x| = 1e4.
    Beyond r errs by 1e-7 of x, and stays in range."""
    n = (x * 0.6366197723675814).unary("round")
    r = n * -1.5703125 + x
    r = n * -4.837512969970703125e-4 + r
    r = n * -7.54978995489188216e-8 + r
    return r.at_most(0.7854).at_least(-0.7854), n.at_most(1e9).at_least(-1e9).cast(I32)


def _finite(x: Num, y: Num) -> Num:
    """`y`, NaN where `x` is infinite or none."""
    return (_size(x) < INFINITY).where(y, float("nan"), x)


def sin(x: Num) -> Num:
    """1e-7 absolute for |x| < 1e4."""
    return _finite(x, sine_in_quadrant(*_quadrant(x)))


def cos(x: Num) -> Num:
    """1e-7 absolute for |x| < 1e4."""
    r, k = _quadrant(x)
    return _finite(x, sine_in_quadrant(r, k + 1))


def tan(x: Num) -> Num:
    """4 ulp for |x| < 100."""
    return sin(x) / cos(x)


def remainder(x: Num, y: Num) -> Num:
    """x - trunc(x / y) * y, to 1 ulp of y for quotients below 2**23. The product is taken in four exact parts."""
    a, b = x.abs(), y.abs()
    q = (a / b).unary("trunc")
    rest = a
    for left, right in ((q_part, b_part) for q_part in _halves(q) for b_part in _halves(b)):
        rest = rest - left * right
    rest = (rest < 0.0).where(rest + b, rest, x)  # the quotient may have been rounded up, or be one too small
    rest = (rest < b).where(rest, rest - b, x)
    whole = (_size(y) < INFINITY).where(copysign(rest, x), x, x)
    return Num(Select(is_nan(y).e, y.e, _finite(x, whole).e), x.lanes)


def _halves(x: Num) -> tuple[Num, Num]:
    """`x` as a sum of two numbers of at most 12 significant bits."""
    high = x.bits(I32).op("and", -(1 << 12)).bits(F32)
    return high, x - high


FUNCTIONS: dict[str, Callable[[Num], Num]] = {
    "isnan": is_nan,
    "isinf": is_infinite,
    "sin": sin,
    "cos": cos,
    "tan": tan,
}
