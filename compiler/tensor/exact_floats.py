"""Sizes in floating point: elements that exporters compute by Cast, Div, Ceil and the like, and that are exact.

An element is a size n or a quotient n / d of a size and a number d > 1, written as the float32 expression Cast(n) / d.
Floats hold n up to LIMITS, and n / d where d is a power of two, exactly. Another quotient of such n is rounded, but not
to or beyond an integer: the nearest one is at least 1 / d away, and half a unit in the last place of n / d is less. So
its floor, ceiling and integer part are those of the quotient; other arithmetic on it is not followed.
"""

from __future__ import annotations

import math
from math import gcd, lcm

from ..dtypes import F16, F32, DType
from ..ir.affine import affine
from ..ir.facts import decide, range_of
from ..ir.nodes import Binary, Cast, Const
from ..ir.sizes import Size, ceiling, divided, divides, equal, larger, number, size, smaller

LARGEST_DIVISOR = 1 << 10


def limit_of(dtype: DType) -> int:
    """The number up to which a float type holds every integer; that of float32 for wider ones."""
    return 1 << (11 if dtype == F16 else 24)


def of_float(value: float) -> Size | None:
    """A number that is an integer or a quotient by a power of two; None for others, NaN and infinities."""
    if not math.isfinite(value):
        return None
    n, d = value.as_integer_ratio()
    return quotient(n, d) if d <= LARGEST_DIVISOR else None


def parts(e: Size) -> tuple[Size, int]:
    """n and d of an element n / d."""
    match e:
        case Binary("/", Cast(_, n), Const(d, _)):
            return int(n.value) if isinstance(n, Const) else n, int(d)
    return e, 1


def quotient(n: Size, d: int) -> Size:
    """The element n / d, in lowest terms, for a positive d."""
    form = affine(number(n)) if not isinstance(n, int) else None
    common = gcd(d, n if isinstance(n, int) else gcd(*(c for _, c in form.terms), form.constant) if form else d)
    if common > 1:
        n, d = divided(n, common), d // common
    if d == 1 or (not isinstance(n, int) and divides(d, n)):
        return divided(n, d)
    return Binary("/", Cast(F32, number(n)), Const(float(d), F32))


def converted(dtype: DType, e: Size, source: DType) -> Size | None:
    """An element of type `source` as `dtype`, which is no bool; None where it is not exact."""
    if dtype.is_int:
        return rounded("trunc", e, source) if source.is_float else e
    n, d = parts(e)
    return e if _fits(n, dtype) and (d & (d - 1) == 0 or dtype.bits >= source.bits) else None


def rounded(op: str, e: Size, dtype: DType) -> Size | None:
    """`op` is floor, ceil, trunc, or round, which rounds a half to the even integer; neg is exact. None where it is not
    known."""
    n, d = parts(e)
    if d == 1 and op in ("floor", "ceil", "trunc", "round"):
        return e
    match op:
        case "neg":
            return quotient(size(0 - n), d)
        case "floor":
            return divided(n, d)
        case "ceil":
            return ceiling(n, d)
        case "trunc":
            return size(divided(larger(n, 0), d) + ceiling(smaller(n, 0), d))
        case "round" if _fits(size(n * 2), dtype):
            nearest = divided(size(n * 2 + d), 2 * d)
            apart = size(number(size(n * 2 + d)) % (2 * d))
            is_tie = size(1 - smaller(apart, 1))
            return size(nearest - number(is_tie) * size(number(nearest) % 2))
    return None


def combined(op: str, a: Size, b: Size, dtype: DType) -> Size | bool | None:
    """A binary operation, or comparison, of two elements; None where the result is not exact, nor a quotient that is
    rounded once."""
    (n, d), (m, e) = parts(a), parts(b)
    if d & (d - 1) or e & (e - 1):
        return a if op in ("+", "-") and b == 0 else None
    if op == "/":
        return _divided(n, d, m, e, dtype)
    if op == "*":
        result = quotient(size(number(n) * m), d * e)
    else:
        whole = lcm(d, e)
        n, m = size(n * (whole // d)), size(m * (whole // e))
        match op:
            case "<" | "<=" | "==" | "!=":
                return decide(op, number(n), number(m))
            case "+":
                result = quotient(size(n + m), whole)
            case "-":
                result = quotient(size(n - m), whole)
            case "max" | "min":
                result = quotient(larger(n, m) if op == "max" else smaller(n, m), whole)
            case _:
                return None
    top, bottom = parts(result)
    return result if bottom <= LARGEST_DIVISOR and _fits(top, dtype) else None


def _divided(n: Size, d: int, m: Size, e: int, dtype: DType) -> Size | None:
    """(n / d) / (m / e): by a number that is not 0, or without remainder."""
    if isinstance(m, int):
        if m == 0:
            return None
        n, m = (n, m) if m > 0 else (size(0 - n), -m)
        result = quotient(size(n * e), d * m)
        top, bottom = parts(result)
        return result if _fits(top, dtype) and bottom < limit_of(dtype) else None
    if d > 1 or e > 1 or not decide("<", number(0), number(m)):
        return None
    exact = equal(size(number(n) % m), 0)
    return divided(n, m) if exact else None


def _fits(n: Size, dtype: DType) -> bool:
    """Whether every value of a size is a number that the type holds exactly."""
    span = (n, n) if isinstance(n, int) else range_of(n)
    return span is not None and max(abs(span[0]), abs(span[1])) <= limit_of(dtype)


def is_zero(e: Size) -> bool | None:
    """Whether an element is 0; None where that differs."""
    return equal(parts(e)[0], 0)
