"""How often tokens are drawn, against how likely they are."""

from __future__ import annotations

import numpy as np


def softmax(x: np.ndarray) -> np.ndarray:
    power = np.exp(x.astype(np.float64) - x.max())
    return np.asarray(power / power.sum())


def chi_square(counts: np.ndarray, expected: np.ndarray) -> float:
    """In standard deviations from its mean, by the normal approximation."""
    degrees = np.count_nonzero(expected) - 1
    some = expected > 0
    assert not counts[~some].any()
    statistic = (((counts - expected)[some] ** 2) / expected[some]).sum()
    return float((statistic - degrees) / np.sqrt(2 * degrees))
