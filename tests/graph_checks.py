"""Graphs for the tests of passes: imported from small models, and compared before and after."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
from onnx_models import Array, assert_close, onnxruntime_results
from webnn_compile.dtypes import DType
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.evaluate import evaluate_graph
from webnn_compile.graph.ir import Graph
from webnn_compile.graph.verify import verify_graph


def feeds_of(graph: Graph) -> dict[str, Array]:
    """Random arrays for the inputs."""
    generator = np.random.default_rng(7)
    return {v.name: _elements(generator, v.shape, v.dtype) for v in graph.inputs}


def _elements(generator: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> Array:
    return (generator.standard_normal(shape) * (1 if dtype.is_float else 5)).astype(dtype.numpy)


def check_pass(
    run: Callable[[Graph], Graph], proto: onnx.ModelProto, tolerance: float = 1e-5, reference: bool = True
) -> Graph:
    """The graph after the pass, having been found valid, stable, and equal in its results to the graph before and
    (with `reference`) to onnxruntime."""
    before = import_model(proto)
    after = run(before)
    verify_graph(after, run.__name__)
    assert run(after) is after
    assert [repr(v) for v in after.inputs] == [repr(v) for v in before.inputs]
    assert [repr(v) for v in after.outputs] == [repr(v) for v in before.outputs]
    feeds = feeds_of(before)
    results = evaluate_graph(after, feeds)
    assert_close(results, evaluate_graph(before, feeds), tolerance)
    if reference:
        assert_close(results, onnxruntime_results(proto, feeds), tolerance)
    return after


def ops(graph: Graph) -> list[str]:
    """The operators in order."""
    return [node.op for node in graph.nodes]
