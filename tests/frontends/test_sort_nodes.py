"""Models that onnxruntime takes though ONNX forbids them: nodes in any order, and initialisers that are no inputs in
the format that wanted them to be; training outputs that nothing reads."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
import webnn_compile
from onnx import helper
from onnx_models import assert_close, from_text, model, node, onnxruntime_results, random
from webnn_compile.frontends.onnx.sort_nodes import sort_nodes


def parsed(text: str) -> onnx.ModelProto:
    return from_text(text, 18)


BRANCHES = """
    (float[2, 3] x, bool c) => (float[2, 3] y) {
      a = Exp(x)
      b = If(c) <
        then_branch = t () => (float[2, 3] u) { v = Neg(a) u = Relu(v) },
        else_branch = e () => (float[2, 3] w) { w = Abs(a) }
      >
      y = Add(a, b)
    }"""


def test_nodes_in_any_order() -> None:
    proto = parsed(BRANCHES)
    feeds = {"x": random((2, 3)), "c": np.array(True)}
    want = onnxruntime_results(proto, feeds)
    inner = proto.graph.node[1].attribute[0].g
    for graph in (inner, proto.graph):
        turned = list(graph.node)[::-1]
        del graph.node[:]
        graph.node.extend(turned)
    assert_close(webnn_compile.compile(proto).run(feeds), want)
    sort_nodes(proto)
    assert [n.op_type for n in proto.graph.node] == ["Exp", "If", "Add"]
    assert [n.op_type for n in proto.graph.node[1].attribute[0].g.node] == ["Neg", "Relu"]


def test_sorted_nodes_keep_their_order() -> None:
    """Also those that could come earlier, or in another order."""
    proto = parsed("(float[2] x) => (float[2] y) { a = Exp(x) b = Neg(a) c = Abs(x) y = Add(b, c) }")
    before = proto.SerializeToString(deterministic=True)
    sort_nodes(proto)
    assert proto.SerializeToString(deterministic=True) == before


def test_a_long_chain_the_wrong_way_round() -> None:
    count = 5000
    nodes = [node("Neg", [f"v{i}"], [f"v{i + 1}"]) for i in range(count)]
    proto = model(nodes[::-1], {"v0": [1]}, [f"v{count}"])
    sort_nodes(proto)
    assert [n.output[0] for n in proto.graph.node] == [f"v{i + 1}" for i in range(count)]


def test_initialisers_that_are_no_inputs_in_the_third_format() -> None:
    proto = model([node("MatMul", ["x", "w"], ["y"])], {"x": [2, 20]}, ["y"], {"w": random((20, 20))}, opset=7)
    proto.ir_version = 3
    feeds = {"x": random((2, 20))}
    want = webnn_compile.compile(model(list(proto.graph.node), {"x": [2, 20]}, ["y"], {"w": random((20, 20))}))
    assert_close(webnn_compile.compile(proto).run(feeds), want.run(feeds))


@pytest.mark.parametrize("opset", [7, 8])
def test_training_outputs_that_nothing_reads(opset: int) -> None:
    """Where BatchNormalization before opset 14 names training outputs it trains, whether these are read or not."""
    weights = {n: np.abs(random((3,), i)) for i, n in enumerate(("s", "b", "m", "v"))}
    made = node("BatchNormalization", ["x", *weights], ["y", "mean", "var", "saved_mean", "saved_var"])
    proto = model([made], {"x": [2, 3, 4]}, ["y"], weights, opset=opset)
    x = random((2, 3, 4))
    s, b, _, v = (w[:, None] for w in weights.values())
    mean, variance = (f(x, axis=(0, 2)) for f in (np.mean, np.var))
    want = {"y": (x - mean[:, None]) / np.sqrt(variance[:, None] + 1e-5) * s + b}
    assert_close(webnn_compile.compile(proto).run({"x": x}), want)
    assert_close(onnxruntime_results(proto, {"x": x}), want)
    proto.graph.output.append(helper.make_empty_tensor_value_info("var"))
    want["var"] = 0.9 * v[:, 0] + 0.1 * variance
    assert_close(webnn_compile.compile(proto).run({"x": x}), want)
