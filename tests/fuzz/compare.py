"""Whether results agree with the reference, given how far the reference itself is certain."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

import numpy as np
from fuzz.case import Array

TOLERANCE = 1e-4
"""Relative to max(1, largest magnitude of the reference): what tests of random graphs allow."""
HALF_TOLERANCE = 1e-2
"""Tolerance where float16 occurs, which the compiler computes in float32."""
DOUBTS = 8
"""Inputs that are nudged, where a result seems wrong."""
DOUBT = 8
"""So many times the reference's own doubt is allowed too."""

Results = Mapping[str, Array]


def nudged(feeds: Results, seed: int) -> dict[str, Array]:
    """Inputs with equal integers, and floats up or down by about one unit of float32's last place."""
    draw = np.random.default_rng(seed)
    return {
        n: (a * (1 + draw.choice((-1.0, 1.0), a.shape) * 2.0**-23)).astype(a.dtype) if a.dtype.kind == "f" else a
        for n, a in feeds.items()
    }


def disagreement(
    got: Results,
    want: Results,
    reference: Callable[[int], Results],
    *,
    halves: bool = False,
    overflows: bool = False,
    doubts: int = DOUBTS,
) -> str:
    """Why `got` is not what is wanted; empty where it is. `reference` gives the results for inputs that are nudged by a
    seed, of so many `doubts`: what changes there may differ. With `overflows` only finite numbers are compared."""
    if sorted(got) != sorted(want):
        return f"outputs {sorted(got)}, expected {sorted(want)}"
    again = functools.cache(reference)
    for name, expected in want.items():
        actual = got[name]
        if (actual.dtype, actual.shape) != (expected.dtype, expected.shape):
            return f"{name} is {actual.dtype}{actual.shape}, expected {expected.dtype}{expected.shape}"
        wrong = _wrong(actual, expected, halves)
        if overflows and expected.dtype.kind == "f":
            wrong &= np.isfinite(actual) & np.isfinite(expected)
        for seed in range(doubts):
            if not wrong.any():
                break
            other = again(seed)[name]
            if other.shape == expected.shape:
                wrong &= ~_doubtful(actual, expected, other)
        if wrong.any():
            at = tuple(int(i) for i in np.argwhere(wrong)[0])
            return f"{name}{list(at)} is {actual[at]!r}, expected {expected[at]!r} ({int(wrong.sum())} of {wrong.size})"
    return ""


def _wrong(actual: Array, expected: Array, halves: bool) -> Array:
    if expected.dtype.kind != "f":
        return np.asarray(actual != expected)
    a, b = actual.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(a) & np.isfinite(b)
    scale = max(1.0, float(np.abs(b[np.isfinite(b)]).max(initial=0)))
    with np.errstate(all="ignore"):
        far = np.abs(a - b) > (HALF_TOLERANCE if halves else TOLERANCE) * scale
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    return np.asarray(np.where(finite, far, ~same))


def _doubtful(actual: Array, expected: Array, other: Array) -> Array:
    """Where the reference changes by as much as the result is off."""
    if expected.dtype.kind != "f":
        return np.asarray(other != expected)
    with np.errstate(all="ignore"):
        off = np.abs(actual.astype(np.float64) - expected.astype(np.float64))
        spread = np.abs(other.astype(np.float64) - expected.astype(np.float64))
        differ = ~((other == expected) | (np.isnan(other) & np.isnan(expected)))
        return np.asarray(np.where(np.isfinite(off) & np.isfinite(spread), off <= DOUBT * spread, differ))
