"""Quanta are stored less their zero point, where all that reads them subtracts it."""

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
from webnn_compile.graph.centre_quanta import centre_quanta
from webnn_compile.graph.ir import Graph
from webnn_compile.graph.passes import run_graph_passes

ZERO = {"uint8": np.uint8(131), "int8": np.int8(-7)}


def block(zero: Any, *, again: Any = None) -> onnx.ModelProto:
    """A residual block: q = Q(x); y = DQ(Q(conv(DQ(q)))) + DQ(q). `again` is a zero point of the second reader."""
    weights: dict[str, Array] = {
        "s": np.float32(0.02),
        "z": np.asarray(zero),
        "again": np.asarray(zero if again is None else again),
        "w": np.random.default_rng(1).integers(-127, 128, (6, 6, 3, 3)).astype(np.int8),
        "t": np.full(6, 0.003, np.float32),
        "r": np.float32(0.05),
    }
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        node("DequantizeLinear", ["q", "s", "z"], ["d"]),
        node("DequantizeLinear", ["w", "t"], ["v"], axis=0),
        node("Conv", ["d", "v"], ["c"], pads=[1, 1, 1, 1]),
        node("QuantizeLinear", ["c", "r", "z"], ["p"]),
        node("DequantizeLinear", ["p", "r", "z"], ["e"]),
        node("DequantizeLinear", ["q", "s", "again"], ["f"]),
        node("Add", ["e", "f"], ["y"]),
    ]
    return model(nodes, {"x": [1, 6, 5, 7]}, ["y"], weights, opset=13)


def centred(graph: Graph) -> int:
    return ops(graph).count("CentredQuantize")


@pytest.mark.parametrize("dtype", ZERO)
def test_a_residual_block(dtype: str) -> None:
    proto = block(ZERO[dtype])
    graph = run_graph_passes(import_model(proto))
    assert centred(graph) == 2
    assert "QuantizeLinear" not in ops(graph)
    x = {"x": random((1, 6, 5, 7), 3) * 2}
    want = onnxruntime_results(proto, x)["y"]
    for target in ("native", "wasm", "opencl", "webgpu"):
        need_driver(target)
        got = webnn_compile.compile(proto, target).run(x)["y"]
        # A quantum, where a value lies in the middle between two, and the same elsewhere.
        assert np.abs(got - want).max() < 0.051
        assert (np.abs(got - want) < 1e-5).mean() > 0.99


def test_the_pass_alone() -> None:
    graph = check_pass(centre_quanta, block(ZERO["uint8"]), tolerance=0.06)
    assert centred(graph) == 2


def test_readers_of_another_zero_point_keep_quanta() -> None:
    assert centred(run_graph_passes(import_model(block(np.uint8(131), again=np.uint8(9))))) == 1


def test_quanta_that_are_results_stay() -> None:
    proto = block(ZERO["uint8"])
    proto.graph.output.append(onnx.helper.make_empty_tensor_value_info("q"))
    assert centred(run_graph_passes(import_model(proto))) == 1


CLAMPS: dict[str, tuple[str, dict[str, Array]]] = {
    "relu": ("Relu", {}),
    "both": ("Clip", {"least": np.float32(-0.31), "most": np.float32(2.4)}),
    "least": ("Clip", {"least": np.float32(0.1)}),
    "beyond": ("Clip", {"least": np.float32(100), "most": np.float32(200)}),
    "nothing": ("Clip", {}),
}


@pytest.mark.parametrize("clamp", CLAMPS)
def test_what_clamps_before_is_part_of_the_bounds(clamp: str) -> None:
    """And the scale is part of the product's factor: rounding is all that is left."""
    op, limits = CLAMPS[clamp]
    generator = np.random.default_rng(5)
    weights: dict[str, Array] = {
        "s": np.float32(0.02),
        "z": np.uint8(131),
        "w": generator.integers(-127, 128, (6, 6)).astype(np.int8),
        "t": np.float32(0.003),
        "r": np.float32(0.04),
        "o": np.uint8(7),
        **limits,
    }
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        node("DequantizeLinear", ["q", "s", "z"], ["d"]),
        node("DequantizeLinear", ["w", "t"], ["v"]),
        node("MatMul", ["d", "v"], ["c"]),
        node(op, ["c", *limits], ["k"]),
        node("QuantizeLinear", ["k", "r", "o"], ["p"]),
        node("DequantizeLinear", ["p", "r", "o"], ["y"]),
    ]
    proto = model(nodes, {"x": [9, 6]}, ["y"], weights, opset=13)
    graph = run_graph_passes(import_model(proto))
    assert ops(graph) == ["Mul", "CentredQuantize", "DequantizedMatMul", "CentredQuantize", "DequantizeLinear"]
    x = {"x": random((9, 6), 3) * 3}
    want = onnxruntime_results(proto, x)["y"]
    got = webnn_compile.compile(proto, "native").run(x)["y"]
    assert np.unique(want).size > (1 if clamp == "beyond" else 9) - (clamp == "beyond")
    assert np.abs(got - want).max() < 0.041
    assert (np.abs(got - want) < 1e-5).mean() > 0.95


def test_a_clamp_that_something_else_reads_stays() -> None:
    proto = block(ZERO["uint8"])
    proto.graph.node[4].input[0] = "positive"
    proto.graph.node.insert(4, node("Relu", ["c"], ["positive"]))
    proto.graph.output.append(onnx.helper.make_tensor_value_info("positive", onnx.TensorProto.FLOAT, None))
    assert ops(run_graph_passes(import_model(proto))).count("Relu") == 1


@pytest.mark.parametrize("target", ["native", "wasm", "wasm-relaxed", "c", "opencl", "webgl", "webgpu"])
def test_rounding_and_bounds(target: str) -> None:
    """Halves to even, saturated, also infinities and large numbers; a NaN is some number."""
    need_driver(target)
    weights = {"s": np.float32(0.5), "z": np.uint8(100), "w": np.eye(40, dtype=np.int8), "one": np.float32(1)}
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        node("DequantizeLinear", ["q", "one", "z"], ["d"]),
        node("DequantizeLinear", ["w", "one"], ["v"]),
        node("MatMul", ["d", "v"], ["y"]),
    ]
    proto = model(nodes, {"x": [1, 40]}, ["y"], weights, opset=13)
    x = np.zeros(40, np.float32)
    x[:16] = [0.25, 0.75, 1.25, -0.25, -0.75, -1.25, 77.5, 77.75, 1e9, -1e9, np.inf, -np.inf, np.nan, -50, -50.25, 3e38]
    want = np.clip(np.rint(x.astype(np.float64) * 2), -100, 155)
    got = webnn_compile.compile(proto, target).run({"x": x[None]})["y"][0]
    numbers = ~np.isnan(x)
    np.testing.assert_array_equal(got[numbers], want[numbers])
    assert np.isfinite(got).all()
