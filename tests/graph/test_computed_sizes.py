"""Sizes that a run computes: named results of their nodes, the same from import to launch."""

from __future__ import annotations

import numpy as np
import onnx
import webnn_compile
from onnx_models import assert_close, onnxruntime_results
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.ir import Graph
from webnn_compile.graph.lower_graph import lower_graph
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.graph.verify import verify_graph
from webnn_compile.ir.nodes import Scalar
from webnn_compile.ir.sizes import number, scalars_of

TWICE = """
<ir_version: 10, opset_import: ["" : 21]>
twice (float[6] x, float[6] y, bool[6] mask) => (float[n] z) {
    i = NonZero (mask)
    axis = Constant <value_ints = [0]> ()
    p = Squeeze (i, axis)
    a = Gather (x, p)
    j = NonZero (mask)
    same_axis = Constant <value_ints = [0]> ()
    q = Squeeze (j, same_axis)
    b = Gather (y, q)
    z = Add (a, b)
}
"""

LOOP = """
<ir_version: 10, opset_import: ["" : 21]>
carried (float[6] x, bool[6] mask) => (float[n] z)
<int64 trips = {3}> {
    some = Compress (x, mask)
    z = Loop (trips, , some) <body = step (int64 i, bool c, float[k] v) => (bool d, float[k] w) {
        d = Identity (c)
        w = Add (v, v)
    }>
}
"""


def parsed(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(text)


def sizes_of(graph: Graph) -> set[Scalar]:
    """Sizes of all values, of regions too."""
    values = [v for node in graph.nodes for v in node.outputs if v is not None]
    inner = (sizes_of(region) for node in graph.nodes for region in node.regions)
    own = (*values, *graph.inputs)
    return set(scalars_of(*(number(n) for v in own for n in v.shape))).union(*inner)


def test_nodes_that_compute_the_same_have_the_same_sizes() -> None:
    """Or else the sum would be of vectors whose lengths may differ."""
    made = parsed(TWICE)
    rng = np.random.default_rng(0)
    feeds = {"x": rng.normal(size=6).astype(np.float32), "y": rng.normal(size=6).astype(np.float32)}
    for mask in ([True, False, True, True, False, False], [False] * 6, [True] * 6):
        feeds["mask"] = np.array(mask)
        for target in ("native", "wasm"):
            assert_close(webnn_compile.compile(made, target).run(feeds), onnxruntime_results(made, feeds))


def test_a_size_is_one_scalar_from_import_to_launch() -> None:
    for text in (TWICE, LOOP):
        graph = import_model(parsed(text))
        (size,) = sizes_of(graph)
        assert size.computed
        optimised = run_graph_passes(graph)
        verify_graph(optimised, "the passes")
        assert sizes_of(optimised) == {size}
        program = lower_graph(optimised)
        assert scalars_of(*(number(n) for _, t in program.outputs for n in t.shape)) == (size,)
        source = program.sizes.source(size)
        assert source is not None
        assert source in program.tensors
