"""Operators of channels last are those of channels first, without transposes between them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import webnn_compile
from drivers import need_driver
from graph_checks import check_pass, ops
from onnx import helper
from onnx_models import Array, model, node, onnxruntime_results, random, random_integers
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.graph.put_channels_first import put_channels_first

MICROSOFT = "com.microsoft"
IMPORTS = [helper.make_opsetid(MICROSOFT, 1)]
LEVELS = {
    name: getattr(ort.GraphOptimizationLevel, f"ORT_{name}")
    for name in ("DISABLE_ALL", "ENABLE_BASIC", "ENABLE_EXTENDED", "ENABLE_LAYOUT", "ENABLE_ALL")
    if hasattr(ort.GraphOptimizationLevel, f"ORT_{name}")
}


def network(dtype: str, batch: int | str = 1) -> onnx.ModelProto:
    """A quantised network of convolutions with a residual, of pools and a join of channels."""
    r = np.random.default_rng(5)
    values: dict[str, Array] = {
        "s": np.float32(0.03),
        "t": np.float32(0.0171),
        "z": np.asarray(9, dtype),
    }
    nodes = [node("QuantizeLinear", ["x", "s", "z"], ["q"])]

    def conv(x: str, y: str, filters: int, channels: int, size: int, group: int = 1) -> None:
        w, s, b = (f"{y}_{name}" for name in "wsb")
        values[w] = r.integers(-60, 60, (filters, channels, size, size), np.int8)
        values[s] = r.uniform(0.005, 0.01, filters).astype(np.float32)
        values[b] = r.integers(-900, 900, filters, np.int32)
        values.setdefault(f"zeros_{filters}", np.zeros(filters, np.int8))
        inputs = [x, "s", "z", w, s, f"zeros_{filters}", "s", "z", b]
        nodes.append(node("QLinearConv", inputs, [y], y, pads=[size // 2] * 4, group=group))

    conv("q", "a", 12, 3, 3)
    conv("a", "b", 12, 1, 3, group=12)
    conv("b", "c", 12, 12, 1)
    quanta = ["s", "z"]
    nodes.append(node("QLinearAdd", ["c", *quanta, "a", *quanta, *quanta], ["d"], "d", domain=MICROSOFT))
    nodes.append(node("MaxPool", ["d"], ["e"], "e", kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1]))
    conv("e", "f", 5, 12, 1)
    joined = ["s", "z", "e", *quanta, "f", *quanta]
    nodes.append(node("QLinearConcat", joined, ["g"], "g", axis=1, domain=MICROSOFT))
    conv("g", "h", 7, 17, 3)
    means = ["h", *quanta, "t", "z"]  # of another scale: no result is halfway between quanta
    nodes.append(node("QLinearGlobalAveragePool", means, ["p"], "p", domain=MICROSOFT))
    nodes.append(node("DequantizeLinear", ["p", "t", "z"], ["y"]))
    return model(nodes, {"x": [batch, 3, 11, 9]}, ["y"], values, imports=IMPORTS)


def optimised(proto: onnx.ModelProto, level: str, path: Path) -> onnx.ModelProto:
    """The model as onnxruntime saves it."""
    options = ort.SessionOptions()
    options.graph_optimization_level = LEVELS[level]
    options.optimized_model_filepath = str(path)
    options.log_severity_level = 4
    ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return onnx.load(path)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("level", LEVELS)
def test_models_that_onnxruntime_saves(level: str, dtype: str, tmp_path: Path) -> None:
    proto = network(dtype)
    saved = optimised(proto, level, tmp_path / "saved.onnx")
    if level in ("ENABLE_LAYOUT", "ENABLE_ALL"):
        assert any(a.name == "channels_last" and a.i for n in saved.graph.node for a in n.attribute)
    x = random((1, 3, 11, 9))
    graph = run_graph_passes(import_model(saved))
    assert "Transpose" not in ops(graph)
    assert not any(n.attributes.get("channels_last") for n in graph.nodes)
    (got,) = webnn_compile.compile(saved).run({"x": x}).values()
    np.testing.assert_array_equal(got, onnxruntime_results(proto, {"x": x})["y"])


@pytest.mark.parametrize("target", ["wasm", "c", "opencl", "webgl", "webgpu"])
def test_batches_that_vary(target: str, tmp_path: Path) -> None:
    need_driver(target)
    proto = network("uint8", "n")
    saved = optimised(proto, "ENABLE_ALL", tmp_path / "saved.onnx")
    compiled = webnn_compile.compile(saved, target=target, dims={"n": (1, 3)})
    for n in (1, 3):
        x = random((n, 3, 11, 9), n)
        (got,) = compiled.run({"x": x}).values()
        np.testing.assert_array_equal(got, onnxruntime_results(proto, {"x": x})["y"])


def floats() -> onnx.ModelProto:
    """Convolutions of channels last, a sum inside of one, and operators of elements around them; the image of channels
    last is read in that order, too."""
    values = {
        "w": random((5, 3, 3, 3)),
        "v": random((5, 5, 1, 1), 1),
        "b": random((5,), 2),
        "scale": random((1, 1, 1, 10), 3),
        "half": np.asarray(0.5, np.float32),
        "shape": np.asarray([0, -1]),
    }
    nodes = [
        node("NhwcConv", ["x", "w"], ["a"], "a", pads=[1, 1, 1, 1], domain=MICROSOFT),
        node("Relu", ["a"], ["r"]),
        node("NhwcFusedConv", ["r", "v", "b", "a"], ["c"], "c", activation="Relu", domain=MICROSOFT),
        node("Mul", ["c", "half"], ["h"]),
        node("Concat", ["h", "r"], ["j"], axis=-1),
        node("Mul", ["j", "scale"], ["m"]),
        node("Transpose", ["m"], ["y"], perm=[0, 3, 1, 2]),
        node("Transpose", ["m"], ["t"], perm=[0, 3, 1, 2]),
        node("Neg", ["t"], ["u"]),
        node("Reshape", ["r", "shape"], ["rows"]),
    ]
    return model(nodes, {"x": [2, 6, 5, 3]}, ["y", "u", "rows"], values, imports=IMPORTS)


def test_transposes_cancel_across_operators_of_elements() -> None:
    """Left are those of the input, and of the image whose elements are read in the order of channels last."""
    check_pass(put_channels_first, floats(), reference=False)
    graph = check_pass(run_graph_passes, floats(), reference=False)
    assert {"Conv", "com.microsoft.FusedConv"} < {*ops(graph)}
    (first, last) = (n for n in graph.nodes if n.op == "Transpose")
    assert first.inputs[0] is graph.inputs[0]
    assert last.outputs[0] is not None
    assert [n.op for n in graph.nodes if last.outputs[0] in n.inputs] == ["Reshape"]


def test_operands_that_are_in_another_order() -> None:
    """A row of channels broadcasts along the last axis alone, and an image that no such operator makes stays."""
    nodes = [
        node("NhwcMaxPool", ["x"], ["a"], kernel_shape=[2, 2], domain=MICROSOFT),
        node("Cast", ["a"], ["f"], to=onnx.TensorProto.FLOAT),
        node("Add", ["f", "row"], ["s"]),
        node("Add", ["f", "image"], ["y"]),
        node("Transpose", ["s"], ["z"], perm=[0, 3, 1, 2]),
    ]
    values = {"row": random((3,)), "image": random((4, 4, 3))}
    proto = model(nodes, {"x": [2, 5, 5, 3]}, ["y", "z"], values, dtype=onnx.TensorProto.INT8, imports=IMPORTS)
    graph = check_pass(put_channels_first, proto)
    assert ops(graph).count("MaxPool") == 1
    x = random_integers(np.random.default_rng(0), (2, 5, 5, 3), np.int8)
    results = webnn_compile.compile(proto).run({"x": x})
    for name, want in onnxruntime_results(proto, {"x": x}).items():
        np.testing.assert_array_equal(results[name], want)


def test_models_without_channels_last_stay() -> None:
    nodes = [node("Transpose", ["x"], ["a"], perm=[0, 2, 3, 1]), node("Relu", ["a"], ["b"])]
    nodes.append(node("Transpose", ["b"], ["y"], perm=[0, 3, 1, 2]))
    graph = import_model(model(nodes, {"x": [1, 3, 4, 5]}, ["y"]))
    assert put_channels_first(graph) is graph
