"""Random models through the whole compiler, at every level of optimisation, against the reference executor."""

from __future__ import annotations

import pytest
from kernel_checks import Verifier
from onnx_models import assert_close, random
from random_models import random_model
from webnn_compile.cpu.compile_for_cpu import compile_for_cpu
from webnn_compile.execution.native_model import NativeModel
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.evaluate import evaluate_graph
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.native.jit import host_target
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.target import WASM_PLAIN


@pytest.mark.parametrize("seed", range(30))
def test_random_model(seed: int) -> None:
    graph = import_model(random_model(seed))
    feeds = {v.name: random(v.shape, seed) for v in graph.inputs}
    want = evaluate_graph(graph, feeds)
    level = (2, 2, 2, 1, 0)[seed % 5]
    lowered = lower_model(run_graph_passes(graph) if level else graph, Verifier(), level)
    target = (host_target(), WASM_PLAIN)[seed % 2]
    assert_close(NativeModel(compile_for_cpu(lowered, target, Verifier(), level)).run(feeds), want, 1e-4)
