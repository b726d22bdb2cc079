"""Intervals of integers: one rule for each operation, from the intervals of its operands."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from ..dtypes import I32, DType, highest, lowest

Range = tuple[int, int]
"""Least and greatest value, both included."""

LOGIC = frozenset({"and", "or", "xor"})
ROUNDING = frozenset({"floor", "ceil", "round", "trunc"})
POWER_LIMIT = 64
"""Exponents from which on a power is taken to be anything."""

ANYTHING = -(1 << 64), 1 << 64
"""A result that no type holds without wrapping."""


def limits(dtype: DType) -> Range:
    """The least and the greatest value of an integer type or bool."""
    return int(lowest(dtype)), int(highest(dtype))


INT32 = limits(I32)


def within(inner: Range, outer: Range) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def union(a: Range, b: Range) -> Range:
    return min(a[0], b[0]), max(a[1], b[1])


def unary_range(op: str, a: Range, dtype: DType) -> Range:
    """The results of an operation on integers of `dtype`, before they are wrapped around to fit it."""
    low, high = a
    match op:
        case "neg":
            return -high, -low
        case "abs":
            return 0 if low <= 0 <= high else min(abs(low), abs(high)), max(abs(low), abs(high))
        case "not":
            return (-high - 1, -low - 1) if dtype.kind == "int" else (limits(dtype)[1] - high, limits(dtype)[1] - low)
    return a if op in ROUNDING else limits(dtype)


def binary_range(op: str, a: Range, b: Range, dtype: DType) -> Range:
    """The results of an operation on integers of `dtype`, before they are wrapped around to fit it."""
    match op:
        case "+":
            return a[0] + b[0], a[1] + b[1]
        case "-":
            return a[0] - b[1], a[1] - b[0]
        case "*":
            return _span(x * y for x, y in product(a, b))
        case "max" | "min":
            pick = max if op == "max" else min
            return pick(a[0], b[0]), pick(a[1], b[1])
        case "/" | "//":
            return _span(_quotient(op, x, y) for x, y in product(a, _divisors(b)))
        case "%" | "fmod":
            return _remainder(op, a, b)
        case "pow":
            return _power(a, b) if b[1] < POWER_LIMIT else ANYTHING
        case "shl" | "shr" if b[0] < 0 or b[1] >= dtype.bits:
            return limits(dtype) if op == "shr" else ANYTHING
        case "shl":
            return _span(x << y for x, y in product(a, b))
        case "shr":
            return _span(x >> y for x, y in product(a, b))
    return _bitwise(op, a, b) if op in LOGIC else limits(dtype)


def of_unknown(op: str, b: Range) -> Range | None:
    """The results where nothing is known of the first operand; None where then nothing is of them."""
    if op == "%" and b[0] > 0:
        return 0, b[1] - 1
    return (0, b[1]) if op == "and" and b[0] >= 0 else None


def by_sum(op: str, r: Range, total: Range) -> Range:
    """The interval `r` of the smaller (larger) of two values, which is at most (at least) half of their sum: |i - 1| is
    max(i - 1, 1 - i), whose operands cancel."""
    return (max(r[0], -(-total[0] // 2)), r[1]) if op == "max" else (r[0], min(r[1], total[1] // 2))


def _span(values: Iterator[int]) -> Range:
    numbers = list(values)
    return min(numbers), max(numbers)


def _quotient(op: str, x: int, y: int) -> int:
    size = abs(x) // abs(y)
    return x // y if op == "//" else size if (x < 0) == (y < 0) else -size


def _divisors(b: Range) -> list[int]:
    """Between these quotients are monotonic; zero divides as one does."""
    divisors = {y for y in (*b, -1, 1) if y and b[0] <= y <= b[1]}
    return sorted(divisors | {1}) if b[0] <= 0 <= b[1] else sorted(divisors)


def _remainder(op: str, a: Range, b: Range) -> Range:
    if op == "%":
        if a[0] >= 0 and b[0] > a[1]:
            return a
        high = min(b[1] - 1, a[1]) if a[0] >= 0 and b[0] >= 0 else b[1] - 1
        return min(0, b[0] + 1), max(0, high)
    size = max(abs(b[0]), abs(b[1]), 1) - 1
    return -min(size, max(0, -a[0])), min(size, max(0, a[1]))


def _power(a: Range, b: Range) -> Range:
    size = max(abs(a[0]), abs(a[1]), 1) ** max(b[1], 0)
    return -size if a[0] < 0 else 0, size


def _bitwise(op: str, a: Range, b: Range) -> Range:
    if op == "and" and (a[0] >= 0 or b[0] >= 0):
        return 0, min(r[1] for r in (a, b) if r[0] >= 0)
    bits = max(v.bit_length() if v >= 0 else (~v).bit_length() for v in (*a, *b))
    return (0 if a[0] >= 0 and b[0] >= 0 else -(1 << bits)), (1 << bits) - 1
