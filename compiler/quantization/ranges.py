"""The ranges of values on calibration data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from ..graph.ir import Array, Graph, Value
from ..system.cache import Cache
from .run_graph import run_graph
from .samples import Sample

BINS = 2048
LEVELS = 256
PERCENTILE = 99.99
"""Percent of the elements that lie in a range, at least; of others half may lie on either side."""

_THRESHOLDS = 96
"""Ranges that are compared by entropy."""


@dataclass(frozen=True, slots=True)
class Range:
    low: float
    high: float

    def __or__(self, other: Range) -> Range:
        return Range(min(self.low, other.low), max(self.high, other.high))


def observe_ranges(
    graph: Graph, values: Iterable[Value], samples: Sequence[Sample], method: str, cache: Cache | None
) -> dict[Value, Range]:
    """The range of each value by `method`, of METHODS. Raises InputError for NaN and infinities."""
    values = tuple(values)
    ranges: dict[Value, Range] = {}
    for sample, arrays in zip(samples, run_graph(graph, values, samples, cache), strict=True):
        for v, a in arrays.items():
            seen = Range(float(a.min(initial=np.inf)), float(a.max(initial=-np.inf)))
            if not np.isfinite(a).all():
                raise InputError(
                    f"value {v.name!r} is NaN or infinite on calibration data {', '.join(sample.files)}; check these "
                    "data, and their --mean and --std"
                )
            ranges[v] = ranges[v] | seen if v in ranges else seen
    ranges = {v: r if r.low <= r.high else Range(0.0, 0.0) for v, r in ranges.items()}
    if method == "minmax":
        return ranges
    counts = {v: np.zeros(BINS, np.int64) for v in values}
    for arrays in run_graph(graph, values, samples, cache):
        for v, a in arrays.items():
            counts[v] += np.histogram(a, BINS, (ranges[v].low, ranges[v].high))[0]
    choose = _CHOICES[method]
    return {v: choose(counts[v], ranges[v]) for v in values}


def choose_percentile(counts: Array, seen: Range) -> Range:
    """The range that PERCENTILE of the elements lie in, given their histogram over `seen`."""
    if seen.low == seen.high:
        return seen
    edges = np.linspace(seen.low, seen.high, BINS + 1)
    below = counts.cumsum() / counts.sum()
    rest = (100 - PERCENTILE) / 200
    return Range(
        float(edges[np.searchsorted(below, rest, "right")]), float(edges[1 + np.searchsorted(below, 1 - rest)])
    )


def choose_entropy(counts: Array, seen: Range) -> Range:
    """The range around zero in which LEVELS levels tell most of the distribution: the least Kullback-Leibler divergence
    of the elements, as far as they are clipped to the range, from what their levels stand for.

    Zeros, which are most of the elements behind a Relu, do not count, since they are represented exactly.
    """
    if seen.low == seen.high:
        return seen
    counts = _without_zeros(counts, seen)
    edges = np.linspace(seen.low, seen.high, BINS + 1)
    middles = (edges[1:] + edges[:-1]) / 2
    largest = max(abs(seen.low), abs(seen.high))
    best, least = seen, np.inf
    for threshold in np.linspace(largest / _THRESHOLDS, largest, _THRESHOLDS):
        inside = np.flatnonzero(np.abs(middles) <= threshold)
        if inside.size < LEVELS // 2:
            continue
        divergence = _divergence(counts, int(inside[0]), int(inside[-1]) + 1)
        if divergence < least:
            least, best = divergence, Range(max(seen.low, -float(threshold)), min(seen.high, float(threshold)))
    return best


def _without_zeros(counts: Array, seen: Range) -> Array:
    """The histogram with as many elements in the bin of zero as in its neighbours, at most."""
    if not seen.low <= 0 <= seen.high:
        return counts
    at = min(int(-seen.low / (seen.high - seen.low) * BINS), BINS - 1)
    neighbours = [counts[i] for i in (at - 1, at + 1) if 0 <= i < BINS]
    changed = counts.copy()
    changed[at] = min(changed[at], max(neighbours))
    return changed


def _divergence(counts: Array, start: int, stop: int) -> float:
    """Divergence of the histogram clipped to bins from `start` to `stop` from the same bins in LEVELS levels."""
    kept = counts[start:stop].astype(np.float64)
    clipped = kept.copy()
    clipped[0] += counts[:start].sum()
    clipped[-1] += counts[stop:].sum()
    level = np.arange(kept.size) * LEVELS // kept.size
    filled = kept > 0
    share = np.bincount(level, kept, LEVELS) / np.maximum(np.bincount(level, filled, LEVELS), 1)
    spread = np.where(filled, share[level], 0)
    p, q = clipped / clipped.sum(), spread / spread.sum() if spread.any() else spread
    used = p > 0
    return float((p[used] * np.log(p[used] / np.maximum(q[used], 1e-9))).sum())


_CHOICES: Mapping[str, Callable[[Array, Range], Range]] = {
    "percentile": choose_percentile,
    "entropy": choose_entropy,
}
