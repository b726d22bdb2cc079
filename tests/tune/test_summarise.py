"""Summaries of kernels, and of the progress of a search."""

from __future__ import annotations

from typing import Any

import pytest
from webnn_compile.records.tuning_record import TuningRecord
from webnn_compile.tune.summarise import progress_of


def trial(key: str, ratio: float | None, **fields: Any) -> TuningRecord:
    values: dict[str, Any] = {"choices": {"rows": 1}, "model": "net", "base": 2.0 if ratio else None}
    return TuningRecord("trial", key, "wasm", "here", ms=2 * ratio if ratio else None, **{**values, **fields})


def test_the_progress_of_a_search_only_falls() -> None:
    """Records of two kernels, one launched three times; slower candidates, failures and layers change nothing."""
    records = [
        trial("kernel-a", 0.5),
        trial("kernel-b", 1.5, launches=3),
        trial("kernel-b", None, failure="wrong"),
        trial("kernel-b", None, failure="illegal"),
        trial("layer-c", 0.1),
        trial("kernel-b", 0.75, launches=3),
        trial("kernel-a", 0.9),
        TuningRecord("chosen", "kernel-a", "wasm", "here", {}, ms=1.0, base=2.0),
    ]
    ((label, points),) = progress_of(records).items()
    assert label == "net, wasm, here"
    assert [n for n, _ in points] == [1, 2, 3, 4, 5]
    assert [gain for _, gain in points] == pytest.approx([0.875, 0.875, 0.875, 0.6875, 0.6875])


def test_no_time_no_gain() -> None:
    assert progress_of([trial("kernel-a", None, failure="timeout")]) == {"net, wasm, here": [(1, 1.0)]}
