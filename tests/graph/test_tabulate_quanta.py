"""Functions of one tensor of 8 bits are tables, of the very results of their operators."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from graph_checks import check_pass, ops
from onnx import TensorProto, helper
from onnx_models import Array, model, node, onnxruntime_results
from webnn_compile.driver.targets import TARGETS
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.graph.tabulate_quanta import tabulate_quanta

SHAPE = [3, 4, 128]
PARAMETERS = {"s": 0.04, "t": 0.0078, "one": 1.0, "half": 0.5, "root": 2.0**0.5, "low": -0.3, "high": 0.9}
FUNCTIONS: dict[str, list[onnx.NodeProto]] = {
    "sigmoid": [node("Sigmoid", ["d"], ["r"])],
    "tanh of what is clipped": [node("Clip", ["d", "low", "high"], ["c"]), node("Tanh", ["c"], ["r"])],
    "silu": [node("Sigmoid", ["d"], ["g"]), node("Mul", ["g", "d"], ["r"])],
    "gelu, quantised inside": [
        node("Div", ["d", "root"], ["a"]),
        node("Erf", ["a"], ["e"]),
        node("QuantizeLinear", ["e", "t", "z"], ["p"]),
        node("DequantizeLinear", ["p", "t", "z"], ["o"]),
        node("Add", ["o", "one"], ["f"]),
        node("Mul", ["d", "f"], ["g"]),
        node("Mul", ["g", "half"], ["r"]),
    ],
}


def function(nodes: list[onnx.NodeProto], dtype: Any, opset: int = 17) -> onnx.ModelProto:
    """DequantizeLinear, the nodes from d to r, and QuantizeLinear to y."""
    nodes = [
        node("DequantizeLinear", ["x", "s", "z"], ["d"]),
        *nodes,
        node("QuantizeLinear", ["r", "t", "z"], ["y"]),
    ]
    read = {n for one in nodes for n in one.input}
    constants: dict[str, Array] = {n: np.asarray(a, np.float32) for n, a in PARAMETERS.items() if n in read}
    constants["z"] = np.asarray(100 if dtype == np.uint8 else -9, dtype)
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    return model(nodes, {"x": SHAPE}, ["y"], constants, opset, kind)


def every(dtype: Any) -> dict[str, Array]:
    """Each of the 256 quanta, several times."""
    quanta = np.arange(np.prod(SHAPE)).reshape(SHAPE) % 256
    return {"x": quanta.astype(np.uint8).view(dtype)}


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("case", FUNCTIONS)
def test_results_are_those_of_the_operators(case: str, dtype: Any) -> None:
    proto = function(FUNCTIONS[case], dtype)
    assert ops(check_pass(tabulate_quanta, proto, reference=False)) == ["LookUp"]
    got = webnn_compile.compile(proto).run(every(dtype))["y"]
    np.testing.assert_array_equal(got, onnxruntime_results(proto, every(dtype))["y"])


@pytest.mark.parametrize("target", TARGETS)
def test_on_every_target(target: str) -> None:
    need_driver(target)
    proto = function(FUNCTIONS["gelu, quantised inside"], np.int8)
    got = webnn_compile.compile(proto, target).run(every(np.int8))["y"]
    np.testing.assert_array_equal(got, onnxruntime_results(proto, every(np.int8))["y"])


def test_behind_a_layer() -> None:
    """The result of QuantizeLinear is looked up, between the products that write and read it."""
    nodes = [
        node("MatMul", ["d", "v"], ["h"]),
        node("QuantizeLinear", ["h", "s", "z"], ["q"]),
        node("DequantizeLinear", ["q", "s", "z"], ["k"]),
        node("Sigmoid", ["k"], ["g"]),
        node("Mul", ["g", "k"], ["m"]),
        node("QuantizeLinear", ["m", "s", "z"], ["n"]),
        node("DequantizeLinear", ["n", "s", "z"], ["o"]),
        node("MatMul", ["o", "v"], ["r"]),
    ]
    proto = function([node("DequantizeLinear", ["w", "s"], ["v"]), *nodes], np.int8)
    weights = np.random.default_rng(2).integers(-40, 40, (128, 128)).astype(np.int8)
    proto.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    graph = run_graph_passes(import_model(proto))
    assert ops(graph) == ["DequantizedMatMul", "QuantizeLinear", "LookUp", "DequantizedMatMul", "QuantizeLinear"]
    compiled = webnn_compile.compile(proto)
    got, want = (r["y"].astype(int) for r in (compiled.run(every(np.int8)), onnxruntime_results(proto, every(np.int8))))
    assert np.abs(got - want).max() <= 1
    assert (got != want).mean() < 1e-3


def test_what_stays() -> None:
    """Functions that vectors compute faster, functions of two tensors or of a scale for each channel, few elements, and
    what an output shows."""

    def kept(nodes: list[onnx.NodeProto], *outputs: str) -> list[str]:
        proto = function(nodes, np.uint8)
        proto.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in outputs)
        return ops(tabulate_quanta(import_model(proto)))

    assert kept([node("Relu", ["d"], ["r"])]) == ["DequantizeLinear", "Relu", "QuantizeLinear"]
    assert kept(FUNCTIONS["sigmoid"], "r") == ["DequantizeLinear", "Sigmoid", "LookUp"]
    two = function([node("Sigmoid", ["d"], ["g"]), node("Mul", ["g", "e"], ["r"])], np.uint8)
    two.graph.input.append(helper.make_tensor_value_info("e", TensorProto.FLOAT, SHAPE))
    channels = function(FUNCTIONS["sigmoid"], np.uint8)
    few = function(FUNCTIONS["sigmoid"], np.uint8)
    few.graph.input[0].type.tensor_type.shape.dim[2].dim_value = 16
    for parameter in list(channels.graph.initializer):
        shape = (128,) if parameter.name in "sz" else ()
        data = np.broadcast_to(onnx.numpy_helper.to_array(parameter), shape)
        parameter.CopyFrom(onnx.numpy_helper.from_array(np.ascontiguousarray(data), parameter.name))
    for i in (0, -1):
        channels.graph.node[i].attribute.append(helper.make_attribute("axis", 2))
    channels.graph.initializer.append(onnx.numpy_helper.from_array(np.full(128, 0.0078, np.float32), "each"))
    channels.graph.node[-1].input[1] = "each"
    for proto in (two, channels, few):
        assert "LookUp" not in ops(tabulate_quanta(import_model(proto)))
