"""Intervals of index expressions, from those of their operands."""

from __future__ import annotations

from collections.abc import Callable

from .nodes import Binary, Const, Expr, Scalar, Select, Var

Range = tuple[int, int]
"""Least and greatest value, both included."""


def atom_range(e: Expr, of: Callable[[Expr], Range | None]) -> Range | None:
    """The interval of an atom, from those of its operands, which `of` gives."""
    match e:
        case Scalar():
            return e.low, e.extent - 1
        case Var():
            return 0, max(e.extent - 1, 0)
        case Const(value, _):
            return int(value), int(value)
        case Binary("//", a, Const(value, _)) if int(value) > 0:
            r = of(a)
            return None if r is None else (r[0] // int(value), r[1] // int(value))
        case Binary("%", a, Const(value, _)) if int(value) > 0:
            r = of(a)
            if r is not None and r[0] >= 0 and r[1] < int(value):
                return r
            return 0, int(value) - 1
        case Binary("//" | "%", a, b) if not isinstance(b, Const):
            return _size_quotient(e.op, of(a), of(b))
        case Binary("/", a, Const(value, _)) if int(value) > 0:
            r = of(a)
            return None if r is None or r[0] < 0 else (r[0] // int(value), r[1] // int(value))
        case Binary("shr", a, Const(value, _)):
            r = of(a)
            return None if r is None else (r[0] >> int(value), r[1] >> int(value))
        case Binary("and", _, Const(value, _)) if int(value) >= 0:
            return 0, int(value)
        case Binary("max" | "min", a, b):
            x, y = of(a), of(b)
            return None if x is None or y is None else _extreme_range(e.op, x, y, of(a + b))
        case Binary("*", a, b):
            x, y = of(a), of(b)
            if x is None or y is None:
                return None
            corners = [i * j for i in x for j in y]
            return min(corners), max(corners)
        case Select(_, a, b):
            x, y = of(a), of(b)
            return None if x is None or y is None else (min(x[0], y[0]), max(x[1], y[1]))
    return None


def _size_quotient(op: str, a: Range | None, b: Range | None) -> Range | None:
    """The range of a division by a size that is known at run time, and positive."""
    if b is None or min(b) < 1:  # no number is at least b[0] and at most b[1] where conditions contradict each other
        return None
    if op == "%":
        return a if a is not None and a[0] >= 0 and a[1] < b[0] else (0, b[1] - 1)
    if a is None:
        return None
    corners = [i // j for i in a for j in b]
    return min(corners), max(corners)


def _extreme_range(op: str, x: Range, y: Range, total: Range | None) -> Range:
    """The range of the smaller (larger) of two values in x and y, which is at most (at least) half of their sum:
    |i - 1| is max(i - 1, 1 - i), whose operands cancel."""
    pick = max if op == "max" else min
    low, high = pick(x[0], y[0]), pick(x[1], y[1])
    if total is None:
        return low, high
    return (max(low, -(-total[0] // 2)), high) if op == "max" else (low, min(high, total[1] // 2))
