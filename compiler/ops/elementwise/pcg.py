"""Random bits as a function of a counter and a key: pcg3d of M. Jarzynski and M. Olano, Hash functions for GPU
rendering, Journal of Computer Graphics Techniques 9(3), 2020. It multiplies, adds and XORs words of 32 bits, so every
target computes equal bits. Many rounds, as Threefry has, are an expression too large for passes that walk each use of
a node."""

from __future__ import annotations

from ...dtypes import U32
from ...ir.nodes import Const, Expr, binary

Words = tuple[Expr, Expr]

_FACTOR, _ADDED = 1664525, 1013904223
"""The linear congruential generator of W. Press et al., Numerical recipes, section 7.1."""


def pcg(counter: Expr, key: tuple[int, int]) -> Words:
    """Two uint32 words for a uint32 counter, and a key of two numbers below 2**32. The second is even: so `z` is odd at
    first, and `y` takes each value once."""
    numbers = (Const((n * _FACTOR + _ADDED) % 2**32, U32) for n in key)
    first = _mixed(counter * _FACTOR + _ADDED, *numbers)
    x, y, _ = _mixed(*(word ^ binary("shr", word, Const(16, U32)) for word in first))
    return x, y


def _mixed(x: Expr, y: Expr, z: Expr) -> tuple[Expr, Expr, Expr]:
    x = x + y * z
    y = y + z * x
    return x, y, z + x * y
