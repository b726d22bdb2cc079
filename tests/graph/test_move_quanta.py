"""Operators that move elements move quanta, and mean the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from graph_checks import check_pass, ops
from onnx_models import Array, model, node, onnxruntime_results, random
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.move_quanta import move_quanta
from webnn_compile.graph.passes import run_graph_passes

PARAMETERS: dict[str, Array] = {"s": np.asarray(0.03, np.float32), "z": np.asarray(7, np.int8)}
MORE: dict[str, Array] = {
    "shape": np.asarray([2, -1]),
    "first": np.asarray([1]),
    "last": np.asarray([3]),
    "axes": np.asarray([2]),
    "twice": np.asarray([1, 1, 2, 1]),
}
MOVES: dict[str, tuple[list[str], dict[str, Any]]] = {
    "Transpose": (["d"], {"perm": [0, 2, 3, 1]}),
    "Reshape": (["d", "shape"], {}),
    "Flatten": (["d"], {}),
    "MaxPool": (["d"], {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}),
    "Slice": (["d", "first", "last", "axes"], {}),
    "Concat": (["d", "d2"], {"axis": 1}),
    "Tile": (["d", "twice"], {}),
    "DepthToSpace": (["d"], {"blocksize": 2}),
}


def moved(op: str, inputs: list[str], attributes: dict[str, Any], *, again: bool = True) -> onnx.ModelProto:
    """QuantizeLinear, DequantizeLinear, the operator, the same QuantizeLinear `again`, and DequantizeLinear."""
    nodes = [node("QuantizeLinear", ["x", "s", "z"], ["q"]), node("DequantizeLinear", ["q", "s", "z"], ["d"])]
    if "d2" in inputs:
        nodes += [node("QuantizeLinear", ["x2", "s", "z"], ["q2"]), node("DequantizeLinear", ["q2", "s", "z"], ["d2"])]
    nodes.append(node(op, inputs, ["m"], **attributes))
    if again:
        nodes += [node("QuantizeLinear", ["m", "s", "z"], ["p"]), node("DequantizeLinear", ["p", "s", "z"], ["r"])]
    nodes.append(node("Neg", ["r" if again else "m"], ["y"]))
    given = {"x": [2, 4, 6, 5]} | ({"x2": [2, 4, 6, 5]} if "d2" in inputs else {})
    return model(nodes, given, ["y"], PARAMETERS | {n: MORE[n] for n in inputs if n in MORE}, opset=13)


@pytest.mark.parametrize("again", [True, False])
@pytest.mark.parametrize("op", MOVES)
def test_quanta_are_moved(op: str, again: bool) -> None:
    proto = moved(op, *MOVES[op], again=again)
    graph = check_pass(run_graph_passes, proto, tolerance=0)
    (mover,) = (n for n in graph.nodes if n.op == op)
    assert {v.dtype.name for v in mover.inputs[:1] if v is not None} <= {"int8", "int16"}
    assert ops(graph).count("DequantizeLinear") == 1
    assert "QuantizeLinear" not in ops(graph)[ops(graph).index(op) :]


@pytest.mark.parametrize("target", ["native", "wasm", "webgl", "webgpu", "opencl"])
def test_on_targets(target: str) -> None:
    need_driver(target)
    for op in ("MaxPool", "Concat", "Transpose"):
        proto = moved(op, *MOVES[op])
        feeds = {v.name: random((2, 4, 6, 5), i) * 2 for i, v in enumerate(proto.graph.input)}
        got = webnn_compile.compile(proto, target).run(feeds)["y"]
        np.testing.assert_array_equal(got, onnxruntime_results(proto, feeds)["y"])


def test_products_read_moved_quanta_less_their_zero_point() -> None:
    """Pooling between two layers is of int16, as these read it."""
    proto = moved("MaxPool", *MOVES["MaxPool"])
    proto.graph.node[-1].CopyFrom(node("Conv", ["r", "e"], ["y"]))
    proto.graph.node.insert(0, node("DequantizeLinear", ["w", "s"], ["e"]))
    weights = np.random.default_rng(1).integers(-127, 128, (5, 4, 3, 3)).astype(np.int8)
    proto.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    graph = check_pass(run_graph_passes, proto)
    assert ops(graph) == ["Mul", "CentredQuantize", "MaxPool", "DequantizedConv"]
    assert [v.dtype.name for v in graph.nodes[2].inputs if v is not None] == ["int16"]


def test_what_stays() -> None:
    """Quanta of two scales, of a scale for each channel, of another scale afterwards; places of a maximum."""
    two = moved("Concat", *MOVES["Concat"])
    two.graph.node[3].input[1] = "s2"
    two.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(0.04, np.float32), "s2"))
    assert ops(move_quanta(import_model(two))) == ops(import_model(two))
    channels = moved("Transpose", *MOVES["Transpose"])
    for parameter, value in zip(
        channels.graph.initializer, (random((4,)) ** 2 + 0.1, np.zeros(4, np.int8)), strict=True
    ):
        parameter.CopyFrom(onnx.numpy_helper.from_array(value, parameter.name))
    del channels.graph.node[3:5]
    channels.graph.node[-1].input[0] = "m"
    assert ops(move_quanta(import_model(channels))) == ops(import_model(channels))
    places = moved("MaxPool", *MOVES["MaxPool"])
    places.graph.node[2].output.append("at")
    places.graph.output.append(onnx.helper.make_empty_tensor_value_info("at"))
    assert ops(move_quanta(import_model(places)))[2] == "MaxPool"
    other = moved("Transpose", *MOVES["Transpose"])
    other.graph.node[3].input[2] = "z2"
    other.graph.node[4].input[2] = "z2"
    other.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(9, np.int8), "z2"))
    after = check_pass(move_quanta, other)
    assert ops(after).count("QuantizeLinear") == 2
