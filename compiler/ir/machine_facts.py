"""Intervals of integers as machines compute them, wrapped around, and of floats on the way; narrowed by what conditions
say of loaded elements."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import TypeVar

from ..dtypes import BOOL, I32, DType
from .intervals import INT32, ROUNDING, Range, binary_range, limits, unary_range, union, within
from .lanes import Extract, Ramp, Splat
from .nodes import Binary, Buffer, Cast, Const, Expr, Load, Scalar, Select, Unary, Var
from .rewrite import loads, walk

Element = tuple[Expr, Range]
"""An expression of loaded elements, and its values where a condition holds."""

ROUNDING_ERROR = 2.0**-23
"""Relative rounding error of an integer converted to float32."""

S = TypeVar("S", bound="MachineFacts")


class MachineFacts(ABC):
    """The part of `Facts` for integers of any type, which may wrap around. None for `buffers`: nothing is known of what
    is loaded."""

    def __init__(self, buffers: Mapping[Buffer, Range] | None, elements: tuple[Element, ...] = ()) -> None:
        self._buffers, self._elements = buffers, elements
        self._values: dict[int, tuple[Expr, Range]] = {}
        self._arms: dict[tuple[int, bool], tuple[Expr, MachineFacts]] = {}

    def of(self, e: Expr) -> Range:
        """The values of an integer or bool expression."""
        entry = self._values.get(id(e))
        if entry is None:
            r, most = self.unwrapped(e), limits(e.dtype)
            entry = self._values[id(e)] = e, self._narrowed(e, r if within(r, most) else most)
        return entry[1]

    def unwrapped(self, e: Expr) -> Range:
        """The results of the topmost operation before they are wrapped around to fit the type."""
        match e:
            case Const(value, _):
                return int(value), int(value)
            case Var():
                return of_variable(e)
            case Load(buffer, _, guard):
                r = (self._buffers or {}).get(buffer) or buffer.values or limits(e.dtype)
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
                return unary_range(op, self.of(a), e.dtype)
            case Binary(op, a, b) if e.dtype.is_int:
                return binary_range(op, self.of(a), self.of(b), e.dtype)
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

    def _narrowed(self, e: Expr, r: Range) -> Range:
        for subject, bounds in self._elements:
            if e is subject or (isinstance(e, Load) and isinstance(subject, Load) and e == subject):
                low, high = max(r[0], bounds[0]), min(r[1], bounds[1])
                r = (low, high) if low <= high else r  # a contradiction: this arm is never taken
        return r

    def wraps(self, e: Expr, *, loaded: bool = True) -> bool:
        """Whether int32 arithmetic, with `loaded` on loaded elements too, may wrap around: then `of` alone
        bounds the result."""
        arithmetic = (n for n in walk(e) if isinstance(n, Unary | Binary) and n.dtype == I32)
        beyond = (n for n in arithmetic if not within(self.unwrapped(n), INT32))
        return any(loaded or not any(True for _ in loads(n)) for n in beyond)

    def where(self: S, cond: Expr, truth: bool) -> S:
        """Facts in an arm of a selection, where `cond` is true (or false): besides these, about loaded elements."""
        key = id(cond), truth
        if key not in self._arms:
            new = tuple(f for f in self._implied(cond, truth) if any(True for _ in loads(f[0])))
            self._arms[key] = cond, self._with((*self._elements, *new)) if new else self
        facts = self._arms[key][1]
        assert isinstance(facts, type(self))
        return facts

    @abstractmethod
    def _with(self: S, elements: tuple[Element, ...]) -> S:
        """These facts, with other `elements`."""

    def _implied(self, cond: Expr, truth: bool) -> Iterator[Element]:
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

    def _about(self, e: Expr, bounds: Range) -> Iterator[Element]:
        """`bounds` of `e`, and of what it is a conversion of that keeps every value."""
        yield e, bounds
        if isinstance(e, Cast) and e.a.dtype.is_int and within(self.of(e.a), limits(e.type)):
            yield from self._about(e.a, bounds)


def of_variable(v: Var) -> Range:
    """The values of a loop's variable or of a scalar."""
    return (v.low, v.extent - 1) if isinstance(v, Scalar) else (0, max(v.extent - 1, 0))


def _whole(x: float, side: int) -> float:
    """The next whole number below (side = -1) or above."""
    if not math.isfinite(x):
        return x
    return math.floor(x) if side < 0 else math.ceil(x)
