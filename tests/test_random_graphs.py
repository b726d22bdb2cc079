"""Random graphs against onnxruntime, each run several times: what an earlier run left behind must not matter."""

from __future__ import annotations

import numpy as np
import pytest
import webnn_compile
from drivers import need_driver
from onnx_models import Array, assert_close, onnxruntime_results
from random_graphs import random_graph

TOLERANCE = 1e-4
"""Relative to the largest element: what a release must hold for whole networks."""

RUNS = [("native", seed) for seed in range(60)] + [("wasm", seed) for seed in range(60, 70)]
RUNS += [("webgpu", seed) for seed in range(40, 60)] + [("webgl", seed) for seed in range(60, 80)]


def poisoned(feeds: dict[str, Array]) -> dict[str, Array]:
    """Inputs with the indices of `feeds`, and NaN for every float: it fills the arena, rounded-up channels and borders
    too."""
    return {n: np.full_like(a, np.nan) if a.dtype.kind == "f" else a for n, a in feeds.items()}


def other(feeds: dict[str, Array], seed: int) -> dict[str, Array]:
    """Other floats, the same indices."""
    generator = np.random.default_rng(seed)
    return {
        n: (generator.standard_normal(a.shape) * 0.5).astype(a.dtype) if a.dtype.kind == "f" else a
        for n, a in feeds.items()
    }


def test_every_node_is_valid_in_the_graph() -> None:
    """Seed 83 has pooled to a shape that ONNX infers otherwise, which a node behind it then contradicted."""
    graph = random_graph(83)
    assert onnxruntime_results(graph.model(), graph.inputs)


@pytest.mark.parametrize(("target", "seed"), RUNS)
def test_random_graph(target: str, seed: int) -> None:
    need_driver(target)
    graph = random_graph(seed)
    proto, feeds = graph.model(), graph.inputs
    compiled = webnn_compile.compile(proto, target=target)
    first = compiled.run(feeds)
    want = onnxruntime_results(proto, feeds)
    assert_close(first, want, TOLERANCE)
    compiled.run(poisoned(feeds))
    again = other(feeds, seed)
    assert_close(compiled.run(again), onnxruntime_results(proto, again), TOLERANCE)
    assert_close(first, want, TOLERANCE)  # results are the caller's own, whatever ran since
