"""Constants are rounded to float16 where that is accurate and saves anything."""

from __future__ import annotations

import numpy as np
import pytest
from graph_checks import check_pass
from onnx_models import model, node
from webnn_compile.graph.round_constants import round_constants

RANDOM = np.random.default_rng(3).standard_normal(1000).astype(np.float32)


def rounded(data: np.ndarray) -> np.ndarray:
    """The only constant of a model that adds `data`, after the pass."""
    proto = model([node("Add", ["x", "w"], ["y"])], {"x": list(data.shape)}, ["y"], {"w": data})
    (found,) = check_pass(round_constants, proto, tolerance=1e-3).constants.values()
    return found


def test_large_constants_become_halves() -> None:
    found = rounded(RANDOM)
    np.testing.assert_array_equal(found, RANDOM.astype(np.float16).astype(np.float32))
    assert found.dtype == np.float32
    assert not np.array_equal(found, RANDOM)


@pytest.mark.parametrize(
    "data",
    [
        RANDOM[:10],
        RANDOM * np.float32(1e6),
        RANDOM * np.float32(1e-6),
        np.append(RANDOM, np.float32(np.inf)),
        np.arange(8000, dtype=np.float32),
    ],
    ids=["few", "too large", "too small", "infinite", "whole"],
)
def test_others_stay(data: np.ndarray) -> None:
    np.testing.assert_array_equal(rounded(data), data)
