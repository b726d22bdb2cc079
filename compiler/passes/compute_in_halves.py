"""Arithmetic on what is stored as float16 anyway, in float16: for devices that have it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..dtypes import F16, F32
from ..ir.nodes import COMPARISONS, Binary, Cast, Const, Expr, Kernel, Load, Node, Select, Store, Unary
from ..ir.rewrite import rewrite, rewrite_statements, walk
from .store_narrow import LARGEST

_OPERATIONS = frozenset({"+", "-", "*", "max", "min"})
_SIGNS = frozenset({"neg", "abs"})


def compute_in_halves(kernel: Kernel) -> Kernel:
    """y[i] = float16(float32(x[i]) * 2 + 1)   ->   y[i] = x[i] * 2h + 1h

    The value of each store to the kernel's last parameter, a float16; sums stay as they are: accumulators are rounded
    where the value reads them. Quotients and functions are float32.
    """
    out = kernel.params[-1]

    def rule(n: Node) -> Store | None:
        match n:
            case Store(b, indices, Cast(to, value)) if b is out and to == F16 and (half := half_of(value)) is not None:
                return Store(b, indices, Cast(F16, Cast(F32, half)))
        return None

    body = rewrite_statements(kernel.body, rule)
    return kernel if body is kernel.body else replace(kernel, body=body)


def compute_in_floats(kernel: Kernel) -> Kernel:
    """The inverse, but that constants stay rounded; the same object where nothing is computed in float16."""
    if not any(isinstance(n, Binary) and n.dtype == F16 for n in walk(kernel.body)):
        return kernel

    def rule(n: Node) -> Expr | None:
        match n:
            case Const(value) if n.dtype == F16:
                return Const(value, F32)
            case Cast(to, a) if to in (F16, F32) and a.dtype == F32:
                return a
        return None

    def store(n: Node) -> Store | None:
        match n:
            case Store(b, indices, value):
                wide = rewrite(value, rule, {Cast, Const})
                return Store(b, indices, Cast(F16, wide) if b.dtype == F16 else wide)
        return None

    return replace(kernel, body=rewrite_statements(kernel.body, store))


def half_of(value: Expr) -> Expr | None:
    """A float32 as it is computed in float16; None where nothing is."""
    if value.dtype != F32:
        return None
    half = _Halves().of(value)
    return half if any(isinstance(n, Binary) for n in results_in(half)) else None


def results_in(half: Expr) -> Iterator[Expr]:
    """The results of float16 arithmetic, and what was rounded for it."""
    for n in walk(half):
        if isinstance(n, Binary | Cast) and n.dtype == F16:
            yield n


class _Halves:
    """Nodes that occur several times are converted once."""

    def __init__(self) -> None:
        self._done: dict[int, Expr] = {}

    def of(self, e: Expr) -> Expr:
        if id(e) not in self._done:
            self._done[id(e)] = self._convert(e)
        return self._done[id(e)]

    def _convert(self, e: Expr) -> Expr:
        match e:
            case Const(value) if _is_half(value):
                return Const(float(np.float16(value)), F16)
            case Binary(op, a, b) if op in _OPERATIONS:
                return Binary(op, self.of(a), self.of(b))
            case Unary(op, a) if op in _SIGNS:
                return Unary(op, self.of(a))
            case Select(cond, a, b):
                return Select(self._condition(cond), self.of(a), self.of(b))
        return Cast(F16, e)

    def _condition(self, e: Expr) -> Expr:
        """A comparison of what is a float16 is exact in float16."""
        match e:
            case Binary(op, a, b) if op in COMPARISONS and _is_exact(a) and _is_exact(b):
                return Binary(op, self.of(a), self.of(b))
        return e


def _is_exact(e: Expr) -> bool:
    match e:
        case Cast(to, Load(b)):
            return to == F32 and b.dtype == F16
        case Const(value):
            return e.dtype == F32 and _is_half(value) and float(np.float16(value)) == value
    return False


def _is_half(value: float) -> bool:
    """Whether it is rounded to a normal float16, or is 0."""
    return value == 0 or 2.0**-14 <= abs(value) <= LARGEST
