"""Ranges of values, and the scales that follow from them."""

from __future__ import annotations

import numpy as np
import pytest
from webnn_compile.quantization.encode import choose_parameters
from webnn_compile.quantization.ranges import BINS, Range, choose_entropy, choose_percentile


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize(("low", "high"), [(0.0, 6.0), (-1.0, 3.0), (-4.0, -1.0), (2.0, 2.0), (0.0, 0.0), (-3.0, 0.0)])
def test_zero_is_exact_and_ends_are_represented(low: float, high: float, dtype: str) -> None:
    p = choose_parameters(low, high, dtype)
    limits = np.iinfo(dtype)
    assert limits.min <= p.zero <= limits.max
    half = float(p.scale) / 2 + 1e-6
    assert p.low <= min(low, 0) + half
    assert p.high >= max(high, 0) - half
    if low == 0:
        assert (p.low, p.zero) == (0, limits.min)


def histogram(data: np.ndarray) -> tuple[np.ndarray, Range]:
    seen = Range(float(data.min()), float(data.max()))
    return np.histogram(data, BINS, (seen.low, seen.high))[0], seen


def test_outliers_are_left_out() -> None:
    data = np.random.default_rng(0).standard_normal(100_000)
    data[0] = 100
    percentile, entropy = choose_percentile(*histogram(data)), choose_entropy(*histogram(data))
    assert 3 < percentile.high < 6
    assert -6 < percentile.low < -3
    assert 2 < entropy.high < 10
    assert np.mean((data < percentile.low) | (data > percentile.high)) < 2e-4


def test_a_range_without_outliers_is_kept() -> None:
    data = np.random.default_rng(0).uniform(-1, 2, 100_000)
    for chosen in (choose_percentile(*histogram(data)), choose_entropy(*histogram(data))):
        assert (chosen.low, chosen.high) == pytest.approx((-1, 2), abs=0.05)


def test_a_value_that_never_changes() -> None:
    counts, seen = np.zeros(BINS, int), Range(2.0, 2.0)
    counts[-1] = 9
    assert choose_percentile(counts, seen) == choose_entropy(counts, seen) == seen
