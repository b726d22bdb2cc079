"""How far a device may be off, relative to the root of the sum of squares of a result.

A mistake changes a sum with random signs by about itself; rounding errors cancel there.
"""

from __future__ import annotations

from ..dtypes import F16, F32
from ..ir.nodes import COMPARISONS, PREDICATES, Binary, Cast, Const, Expr, Kernel, Node, Unary
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

_EXTREMES = frozenset({"max", "min", "max_nan", "min_nan", "relaxed_max", "relaxed_min"})
_SUMMED = _EXTREMES | {"+", "-", "*"}
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


def keeps_proportions(kernel: Kernel) -> bool:
    """Whether results of a naive kernel are as much larger as its floats are, all in float32: with these multiplied
    by a power of two they are as accurate."""
    floats = [n for n in walk(kernel.body) if isinstance(n, Expr) and n.dtype.is_float]
    in_one_type = all(n.dtype == F32 for n in floats) and all(b.dtype != F16 for b in kernel.params)
    return in_one_type and not amplifies(kernel) and not any(map(_is_bound, floats))


def _is_bound(n: Expr) -> bool:
    """Whether a node is the larger or the smaller of a float and a number that is not zero."""
    return isinstance(n, Binary) and n.op in _EXTREMES and any(isinstance(e, Const) and e.value for e in (n.a, n.b))


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
