"""Figures of many rounds: medians, minima, ratios."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .engines import ENGINES, baselines

Key = tuple[str, str | None, str]
"""Case, browser (None: native), engine."""
Rounds = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Figures:
    """Milliseconds. `median` is that of the rounds' medians; `first` is from nothing to the first result. `others` are
    the cores that other processes used, by round, where that is known."""

    median: float
    minimum: float
    first: float
    error: float
    others: tuple[float, ...]
    rounds: int


@dataclass(frozen=True, slots=True)
class Ratio:
    """The ratios of an engine's times to a baseline's, where both have figures: the median of the rounds' ratios of
    medians, and the ratio of the minima."""

    baseline: str
    median: float
    minimum: float


def summarise(rounds: Rounds) -> Figures | str:
    """The figures of the rounds that were completed; why there are none, otherwise."""
    done = [r for r in rounds if "failed" not in r]
    if not done:
        return str(rounds[-1]["failed"]) if rounds else "not measured"
    return Figures(
        median=statistics.median(statistics.median(r["times_ms"]) for r in done),
        minimum=min(min(r["times_ms"]) for r in done),
        first=statistics.median(r["start_ms"] + r["first_ms"] for r in done),
        error=max(r["error"] for r in done),
        others=tuple(r["others"] for r in done if r["others"] is not None),
        rounds=len(done),
    )


def ratios(key: Key, measured: Mapping[Key, Rounds]) -> list[Ratio]:
    """Ratios of an engine of ours to its baselines, which were measured in turns with it."""
    case, browser, engine = key
    rows = []
    for name in baselines(ENGINES[engine]):
        pairs = [
            (a, b)
            for a, b in zip(measured[key], measured.get((case, browser, name), ()), strict=False)
            if "failed" not in a and "failed" not in b
        ]
        if pairs:
            medians = [statistics.median(a["times_ms"]) / statistics.median(b["times_ms"]) for a, b in pairs]
            minima = [min(min(r["times_ms"]) for r in side) for side in zip(*pairs, strict=True)]
            rows.append(Ratio(name, statistics.median(medians), minima[0] / minima[1]))
    return rows
