"""Random bits as a function of a counter and a key: pcg3d of M. Jarzynski and M. Olano, Hash functions for GPU
rendering, Journal of Computer Graphics Techniques 9(3), 2020. It multiplies, adds and XORs words of 32 bits, so every
target computes equal bits. Many rounds, as Threefry has, are an expression too large for passes that walk each use of
a node."""

from __future__ import annotations

from ...dtypes import F32, I32, U32
from ...ir.construct import minimum, unary
from ...ir.nodes import Const, Expr, binary

Words = tuple[Expr, Expr]

_FACTOR, _ADDED = 1664525, 1013904223
"""The linear congruential generator of W. Press et al., Numerical recipes, section 7.1."""


def pcg(counter: Expr, key: tuple[int | Expr, int | Expr]) -> Words:
    """Two uint32 words for a uint32 counter, and a key of two numbers below 2**32, or uint32 expressions. The second
    is even: so `z` is odd at first, and `y` takes each value once."""
    first = _mixed(*map(_spread, (counter, *key)))
    x, y, _ = _mixed(*(word ^ high(word, 16) for word in first))
    return x, y


def high(word: Expr, bits: int) -> Expr:
    """The integer that the highest bits of a word are."""
    return binary("shr", word, Const(32 - bits, U32))


def exponential(words: Words) -> Expr:
    """A number of the exponential distribution of mean 1, float32: small ones decide which of many is the least, so
    they are of 48 bits, and the uniform number never is 1."""
    x, y = words
    small = (_float(high(y, 24)) + 1.0) * 2.0**-48 + _float(high(x, 24)) * 2.0**-24
    return -unary("log1p", -minimum(small, 1 - 2.0**-24))


def _float(n: Expr) -> Expr:
    """The number of few bits as a float: processors convert signed ones in one instruction."""
    return n.cast(I32).cast(F32)


def _spread(n: int | Expr) -> Expr:
    return n * _FACTOR + _ADDED if isinstance(n, Expr) else Const((n * _FACTOR + _ADDED) % 2**32, U32)


def _mixed(x: Expr, y: Expr, z: Expr) -> tuple[Expr, Expr, Expr]:
    x = x + y * z
    y = y + z * x
    return x, y, z + x * y
