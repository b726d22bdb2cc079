"""Predicts the time of candidates from those that were measured: trees over the decisions, by scikit-learn."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from math import log, log2
from typing import Any

import numpy as np

from .walk import Path

FEWEST = 12
"""Measurements below which nothing is predicted."""


def predict(measured: Sequence[tuple[Path, float]], candidates: Sequence[Path]) -> list[float]:
    """The ratios of `candidates` to the default; 1 for all where too few are measured, or scikit-learn is not
    here, as in a page. Extremely randomised
    trees (Geurts, Ernst and Wehenkel, 2006) over the logarithm: decisions are few, mixed, and depend on each other."""
    if len(measured) < FEWEST or not candidates or importlib.util.find_spec("sklearn") is None:
        return [1.0] * len(candidates)
    from sklearn.ensemble import ExtraTreesRegressor

    names = sorted({name for path, _ in measured for name in path} | {name for path in candidates for name in path})
    words = {
        name: sorted({_word(path[name]) for path in (*(p for p, _ in measured), *candidates) if name in path})
        for name in names
    }
    trees = ExtraTreesRegressor(n_estimators=48, random_state=0, n_jobs=1)
    trees.fit([_features(p, names, words) for p, _ in measured], [log(max(r, 1e-9)) for _, r in measured])
    return [float(x) for x in np.exp(trees.predict([_features(p, names, words) for p in candidates]))]


def _features(path: Path, names: Sequence[str], words: Mapping[str, Sequence[str]]) -> list[float]:
    """Numbers by their logarithm, other options by their place among all; -1 for a decision that is not made."""
    return [_number(path[name], words[name]) if name in path else -1.0 for name in names]


def _number(option: Any, words: Sequence[str]) -> float:
    if isinstance(option, int) and option >= 0:
        return log2(1 + option)
    return float(words.index(_word(option)))


def _word(option: Any) -> str:
    return str(option)
