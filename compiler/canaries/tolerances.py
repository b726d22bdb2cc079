"""How far a device may be off, relative to the root of the sum of squares of a result.

A mistake changes a sum with random signs by about itself; rounding errors cancel there.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..dtypes import F16, F32
from ..ir.nodes import (
    COMPARISONS,
    PREDICATES,
    Binary,
    Buffer,
    Cast,
    Const,
    Expr,
    Kernel,
    Load,
    Node,
    Select,
    Store,
    Unary,
)
from ..ir.rewrite import walk

EXACT = 1e-9
"""Tolerance of integers: of their sums in float64."""
SUMS = 1e-4
"""Tolerance of additions and multiplications, whose order is a device's."""
FUNCTIONS = 1e-3
"""Tolerance of functions, which devices compute more coarsely, and of what is rounded to integers on the way."""
HALVES = 2e-3
"""Tolerance of what is stored as float16."""
LOOSEST = 5e-3
"""With twice that a result that is wrong by a factor of 1 % would pass: kernels that need more have no canary."""

_SUMMED = frozenset({"+", "-", "*", "max", "min", "max_nan", "min_nan", "relaxed_max", "relaxed_min"})
_EXACT_CHOICES = COMPARISONS | {"/"}
_KEPT = PREDICATES | {"neg", "abs"}


def base_tolerance(kernel: Kernel) -> float:
    """The tolerance of a naive kernel whose operands are exact, without what it amplifies."""
    nodes = list(walk(kernel.body))
    if not any(isinstance(n, Expr) and n.dtype.is_float for n in nodes):
        return EXACT
    in_halves = any(b.dtype == F16 for b in kernel.params)
    return max(HALVES if in_halves else SUMS, FUNCTIONS if any(map(_is_function, nodes)) else SUMS)


def amplifies(kernel: Kernel) -> bool:
    """Whether errors of a naive kernel's operands may grow: beside sums and products of floats it has quotients,
    functions, or choices by floats."""
    return any(_is_function(n) or (isinstance(n, Binary) and _divides(n)) for n in walk(kernel.body))


def sums_products(kernel: Kernel) -> bool:
    """Whether results of a naive kernel are sums, over a loop, of products of equally many operands, all in float32.
    With these multiplied by a power of two they are as accurate, and each operand is as much of them as before."""
    nodes = list(walk(kernel.body))
    floats = [n for n in nodes if isinstance(n, Expr) and n.dtype.is_float]
    if any(n.dtype != F32 for n in floats) or any(b.dtype == F16 for b in kernel.params) or amplifies(kernel):
        return False
    stores = [n for n in nodes if isinstance(n, Store)]
    if not any(isinstance(e, Load) and e.buffer is n.buffer for n in stores for e in walk(n.value)):
        return False
    factors: dict[Buffer, frozenset[int]] = {b: frozenset({1}) for b in kernel.params[:-1]}
    for _ in range(len(stores) + 1):
        for n in stores:
            factors[n.buffer] = factors.get(n.buffer, frozenset()) | _factors(n.value, factors)
        if any(len(counts) > 1 for counts in factors.values()):
            return False
    return min(factors[kernel.params[-1]], default=0) > 0


def _factors(n: Expr, factors: Mapping[Buffer, frozenset[int]]) -> frozenset[int]:
    """How many operands in float32 are multiplied in each term of an expression; of zero, none of these numbers."""
    match n:
        case Load(buffer) if n.dtype.is_float:
            return factors.get(buffer, frozenset())
        case Const(value) if not value:
            return frozenset()
        case Unary(_, a) if n.dtype.is_float:
            return _factors(a, factors)
        case Binary("*", a, b) if n.dtype.is_float:
            return frozenset(x + y for x in _factors(a, factors) for y in _factors(b, factors))
        case Binary(_, a, b) | Select(_, a, b) if n.dtype.is_float:
            return _factors(a, factors) | _factors(b, factors)
    return frozenset({0})


def _divides(n: Binary) -> bool:
    return n.a.dtype.is_float and n.op in _EXACT_CHOICES


def _is_function(n: Node) -> bool:
    """Whether a node is of floats, and more than a sum, a product, a quotient or a choice."""
    match n:
        case Unary(op, a):
            return a.dtype.is_float and op not in _KEPT
        case Binary(op, a, _):
            return a.dtype.is_float and op not in _SUMMED | _EXACT_CHOICES
        case Cast(to, a):
            return a.dtype.is_float and not to.is_float
    return False
