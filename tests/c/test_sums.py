"""Sums in order, as the system's C compiler makes them of their source."""

from __future__ import annotations

import numpy as np
import pytest
import webnn_compile
from onnx_models import assert_close, model, node, onnxruntime_results, random


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("shape", [(6, 3, 8), (4, 5, 4), (2, 9, 16)])
def test_of_what_is_read_backwards(shape: tuple[int, int, int], axis: int) -> None:
    """GCC 12 would add some elements twice (its bug 110381)."""
    nodes = [
        node("Slice", ["x", "start", "end", "axis", "step"], ["turned"]),
        node("ReduceSum", ["turned"], ["y"], keepdims=0),
        node("ReduceSum", ["turned", "two"], ["z"], keepdims=0),
    ]
    ends = {"start": [-1], "end": [-(2**31)], "axis": [axis], "step": [-1], "two": [1, 2]}
    made = model(nodes, {"x": list(shape)}, ["y", "z"], {n: np.array(v) for n, v in ends.items()})
    feeds = {"x": random(shape)}
    assert_close(webnn_compile.compile(made, "c").run(feeds), onnxruntime_results(made, feeds))
