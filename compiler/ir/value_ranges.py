"""Intervals of the integers that a kernel computes, narrowed by conditions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import product

from ..dtypes import BOOL, I32, DType, highest, lowest
from .intervals import Range
from .lanes import Extract, Ramp, Splat
from .nodes import Binary, Buffer, Cast, Const, Expr, Load, Scalar, Select, Unary, Var
from .rewrite import loads

Fact = tuple[Expr, Range]
LOGIC = frozenset({"and", "or", "xor"})
ROUNDING = frozenset({"floor", "ceil", "round", "trunc"})
POWER_LIMIT = 64
"""Exponents from which on a power is taken to be anything."""

ROUNDING_ERROR = 2.0**-23
"""Relative rounding error of an integer converted to float32."""

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


class Ranges:
    """`buffers` are ranges of elements beyond `Buffer.values`; all else has the range of its type."""

    def __init__(self, buffers: Mapping[Buffer, Range], facts: tuple[Fact, ...] = ()) -> None:
        self._buffers, self._facts = buffers, facts
        self._known: dict[int, tuple[Expr, Range]] = {}
        self._inside: dict[tuple[int, bool], tuple[Expr, Ranges]] = {}

    def of(self, e: Expr) -> Range:
        """The values of an integer or bool expression."""
        found = self._known.get(id(e))
        if found is None:
            r, most = self.unwrapped(e), limits(e.dtype)
            found = self._known[id(e)] = e, self._refined(e, r if within(r, most) else most)
        return found[1]

    def where(self, cond: Expr, truth: bool) -> Ranges:
        """Ranges known where `cond` is true (or false): in an arm of a selection."""
        key = id(cond), truth
        if key not in self._inside:
            facts = tuple(f for f in self._implied(cond, truth) if any(True for _ in loads(f[0])))
            self._inside[key] = cond, Ranges(self._buffers, (*self._facts, *facts)) if facts else self
        return self._inside[key][1]

    def unwrapped(self, e: Expr) -> Range:
        """The results of the topmost operation before they are wrapped around to fit the type."""
        match e:
            case Const(value, _):
                return int(value), int(value)
            case Scalar():
                return e.low, e.extent - 1
            case Var():
                return 0, max(e.extent - 1, 0)
            case Load(buffer, _, guard):
                r = self._buffers.get(buffer) or buffer.values or limits(e.dtype)
                return r if guard is None else union(r, (0, 0))
            case Splat(a, _) | Extract(a, _):
                return self.of(a)
            case Ramp(base, lanes):
                low, high = self.of(base)
                return low, high + lanes - 1
            case Select(c, a, b):
                return union(self.where(c, True).of(a), self.where(c, False).of(b))
            case Cast(dtype, a) if dtype != BOOL:
                return self._truncated(dtype, a) if a.dtype.is_float else self.of(a)
            case Unary(op, a) if e.dtype.is_int:
                return _unary(op, self.of(a), e.dtype)
            case Binary(op, a, b) if e.dtype.is_int:
                return _binary(op, self.of(a), self.of(b), e.dtype)
        return limits(e.dtype)

    def real(self, e: Expr) -> tuple[float, float]:
        """The bounds of a float expression where it is a number."""
        match e:
            case Const(value, _):
                return float(value), float(value)
            case Cast(_, a) if not a.dtype.is_float:
                low, high = self.of(a)
                return low - abs(low) * ROUNDING_ERROR, high + abs(high) * ROUNDING_ERROR
            case Cast(_, a) | Splat(a, _):
                return self.real(a)
            case Unary(op, a) if op in ROUNDING:
                least, most = self.real(a)
                return _whole(least, -1), _whole(most, 1)
            case Binary("max" | "min", a, b):
                pick = max if e.op == "max" else min
                x, y = self.real(a), self.real(b)
                either = pick(x[0], y[0]), pick(x[1], y[1])
                if isinstance(b, Const):
                    return either
                return min(x[0], either[0]), max(x[1], either[1])  # x also where b is NaN
            case Select(c, a, b):
                x, y = self.where(c, True).real(a), self.where(c, False).real(b)
                return min(x[0], y[0]), max(x[1], y[1])
        return -math.inf, math.inf

    def _truncated(self, dtype: DType, a: Expr) -> Range:
        """The range of a float converted to an integer, which saturates; NaN gives 0."""
        least, most = limits(dtype)
        low, high = (int(v) if least <= v <= most else least if v < least else most for v in self.real(a))
        return union((low, high), (0, 0))

    def _refined(self, e: Expr, r: Range) -> Range:
        for subject, bounds in self._facts:
            if e is subject or (isinstance(e, Load) and isinstance(subject, Load) and e == subject):
                low, high = max(r[0], bounds[0]), min(r[1], bounds[1])
                r = (low, high) if low <= high else r  # a contradiction: this arm is never taken
        return r

    def _implied(self, cond: Expr, truth: bool) -> Iterator[Fact]:
        match cond:
            case Unary("not", a):
                yield from self._implied(a, not truth)
            case Binary("and" | "or", a, b) if (cond.op == "and") == truth:
                yield from self._implied(a, truth)
                yield from self._implied(b, truth)
            case Binary("<" | "<=", a, b) if a.dtype.is_int:
                less, more = (a, b) if truth else (b, a)
                apart = int((cond.op == "<") == truth)
                yield from self._about(less, (limits(a.dtype)[0], self.of(more)[1] - apart))
                yield from self._about(more, (self.of(less)[0] + apart, limits(a.dtype)[1]))
            case Binary("==" | "!=", a, b) if a.dtype.is_int and (cond.op == "==") == truth:
                yield from self._about(a, self.of(b))
                yield from self._about(b, self.of(a))

    def _about(self, e: Expr, bounds: Range) -> Iterator[Fact]:
        """A fact of `e`, and of what it is a conversion of that keeps every value."""
        yield e, bounds
        if isinstance(e, Cast) and e.a.dtype.is_int and within(self.of(e.a), limits(e.type)):
            yield from self._about(e.a, bounds)


def _whole(x: float, side: int) -> float:
    """The next whole number below (side = -1) or above."""
    if not math.isfinite(x):
        return x
    return math.floor(x) if side < 0 else math.ceil(x)


def _unary(op: str, a: Range, dtype: DType) -> Range:
    low, high = a
    match op:
        case "neg":
            return -high, -low
        case "abs":
            return 0 if low <= 0 <= high else min(abs(low), abs(high)), max(abs(low), abs(high))
        case "not":
            return (-high - 1, -low - 1) if dtype.kind == "int" else (limits(dtype)[1] - high, limits(dtype)[1] - low)
    return a if op in ROUNDING else limits(dtype)


def _binary(op: str, a: Range, b: Range, dtype: DType) -> Range:
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


def _span(values: Iterator[int]) -> Range:
    found = list(values)
    return min(found), max(found)


def _quotient(op: str, x: int, y: int) -> int:
    size = abs(x) // abs(y)
    return x // y if op == "//" else size if (x < 0) == (y < 0) else -size


def _divisors(b: Range) -> list[int]:
    """Between these quotients are monotonic; zero divides as one does."""
    found = {y for y in (*b, -1, 1) if y and b[0] <= y <= b[1]}
    return sorted(found | {1}) if b[0] <= 0 <= b[1] else sorted(found)


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
