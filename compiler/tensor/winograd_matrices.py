"""The matrices of Winograd's minimal filtering F(m, r): m outputs of an r-tap filter by m + r - 1 products.

y = A' ((G g) * (B' d)) for a filter g and m + r - 1 inputs d. By Toom and Cook: both factors are polynomials, evaluated
at m + r - 2 points and at infinity; the transposition principle turns their product into a correlation (Lavin and Gray,
"Fast Algorithms for Convolutional Neural Networks", 2016).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np

Array = np.ndarray

POINTS: dict[int, tuple[Fraction, ...]] = {
    2: (Fraction(0), Fraction(1), Fraction(-1)),
    # The usual 0, +-1, +-2 have twice the error in float32; the entries of A and B are exact here too.
    3: (Fraction(0), Fraction(3, 4), Fraction(-3, 4), Fraction(3, 2)),
    4: (Fraction(0), Fraction(3, 4), Fraction(-3, 4), Fraction(3, 2), Fraction(-3, 2)),
}
"""By m, for r = 3."""

OutputTile = tuple[int, int]
"""Rows and columns of the results that are computed together: those of F(m x k, 3 x 3)."""

TILES: tuple[OutputTile, ...] = tuple(product(POINTS, POINTS))


@dataclass(frozen=True, slots=True)
class Winograd:
    """float64 matrices, n = m + 2: `output` A' (m, n), `weights` G (n, 3), `input` B' (n, n)."""

    output: Array
    weights: Array
    input: Array


@cache
def winograd(m: int) -> Winograd:
    """F(m, 3); m is one of POINTS."""
    points, taps = POINTS[m], 3
    n = m + taps - 1
    last = n - 1
    output, weights, inputs = (np.zeros(shape) for shape in ((m, n), (n, taps), (n, n)))
    for k, p in enumerate(points):
        others = [q for q in points if q != p]
        scale = Fraction(1)
        for q in others:
            scale *= p - q
        output[:, k] = [float(p**i) for i in range(m)]
        weights[k] = [float(p**i / scale) for i in range(taps)]
        inputs[k, :last] = [float(c) for c in _expand(others)]
    output[m - 1, last] = weights[last, taps - 1] = 1.0
    inputs[last] = [float(c) for c in _expand(list(points))]
    return Winograd(output, weights, inputs)


def _expand(roots: list[Fraction]) -> list[Fraction]:
    """The coefficients of the product of (x - root), that of the constant first."""
    coefficients = [Fraction(1)]
    for root in roots:
        shifted = [Fraction(0), *coefficients]
        coefficients = [s - root * c for s, c in zip(shifted, [*coefficients, Fraction(0)], strict=True)]
    return coefficients
