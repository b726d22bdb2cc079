"""The remainder of floats, exact for all of them, in integers as wide as they are."""

from __future__ import annotations

from dataclasses import dataclass

from ..dtypes import F32, F64, I32, I64, DType
from .math_functions import Num, copysign


@dataclass(frozen=True, slots=True)
class Format:
    """A floating-point type of IEEE 754, and the integer of as many bits. `digits` are those of a significand, without
    the first; `bias` is that of exponents."""

    dtype: DType
    whole: DType
    digits: int
    bias: int

    @property
    def infinity(self) -> int:
        return (2 * self.bias + 1) << self.digits

    @property
    def exponents(self) -> int:
        """Bits of a difference of exponents, subnormal numbers' included."""
        return (2 * self.bias + self.digits).bit_length()


FORMATS = {F32: Format(F32, I32, 23, 127), F64: Format(F64, I64, 52, 1023)}


def float_remainder(x: Num, y: Num) -> Num:
    """x - trunc(x / y) * y, as C's fmod: it has the sign of `x`, and is NaN where x is infinite, y zero, or one NaN.

    With x = m * 2**d * u and y = n * u, whole m and n, it is (m * (2**d mod n) mod n) * u; 2**d by squaring.
    """
    f = FORMATS[x.e.dtype]
    a, b = _size(x, f), _size(y, f)
    (m, m_exponent), (n, exponent) = _normalised(a, f), _normalised(b, f)
    d = m_exponent - exponent
    modulus = _Modulus(n, f)
    # The first bits of d at once: a power of two below n.
    low = f.exponents - (f.digits.bit_length() - 1)
    power = d.of(1).op("shl", d.op("shr", low).op("and", (1 << f.exponents - low) - 1))
    for bit in reversed(range(low)):
        power = modulus.product(power, power)
        on = d.op("and", 1 << bit).eq(1 << bit)
        power = on.where(modulus.once(power + power), power, d)
    rest = modulus.product(modulus.once(m), power).cast(f.dtype)
    # In two factors, for exponents beyond those of normal numbers.
    scale = exponent - (f.bias + f.digits)
    half = scale.op("shr", 1)
    rest = rest * _power_of_two(half, f) * _power_of_two(scale - half, f)
    remainder = (a < b).where(x, copysign(rest, x), x)
    none = (a < f.infinity).unary("not").op("or", (d.of(f.infinity) < b)).op("or", b.eq(0))
    return none.where(float("nan"), remainder, x)


def _size(x: Num, f: Format) -> Num:
    """The bits of |x|."""
    return x.bits(f.whole).op("and", (1 << f.whole.bits - 1) - 1)


def _normalised(size: Num, f: Format) -> tuple[Num, Num]:
    """(m, e): |x| = m * 2**(e - bias - digits) with 2**digits <= m < 2**(digits + 1). A subnormal number becomes the
    float of its bits, a multiple of the least: devices take it for zero."""
    first = 1 << f.digits
    tiny = size < first
    bits = tiny.where(size.cast(f.dtype).bits(f.whole), size, size)
    exponent = bits.op("shr", f.digits) - tiny.where(f.bias + f.digits - 1, 0, size)
    return bits.op("and", first - 1).op("or", first), exponent


def _power_of_two(e: Num, f: Format) -> Num:
    return (e + f.bias).op("shl", f.digits).bits(f.dtype)


class _Modulus:
    """Arithmetic of integers below `n`, which has all digits of a significand."""

    def __init__(self, n: Num, f: Format) -> None:
        self._n = n
        self._format = f
        divisor = n.cast(f.dtype)
        self._inverse = divisor.of(1.0) / divisor

    def once(self, a: Num) -> Num:
        """a mod n for 0 <= a < 2n."""
        return (a < self._n).where(a, a - self._n, a)

    def product(self, a: Num, b: Num) -> Num:
        """a * b mod n: the quotient in floats errs by few, so that what remains is right in the low bits of integers,
        which wrap around; then once more."""
        f = self._format
        quotient = (a.cast(f.dtype) * b.cast(f.dtype) * self._inverse).cast(f.whole)
        rest = a * b - quotient * self._n
        rest = rest - (rest.cast(f.dtype) * self._inverse).unary("floor").cast(f.whole) * self._n
        rest = (rest < 0).where(rest + self._n, rest, rest)
        return self.once(rest)
