"""Layers that compute in eight bits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from onnx import numpy_helper
from onnx_models import Array, model, node, onnxruntime_results, random
from quantization.networks import mixer, operators, pictures, residual
from webnn_compile.errors import InputError
from webnn_compile.quantization.result import Quantization


def quantize(proto: onnx.ModelProto, data: Any, **options: Any) -> tuple[onnx.ModelProto, Quantization]:
    reports: list[Quantization] = []
    quantized = webnn_compile.quantize(proto, data, report=reports.append, **options)
    onnx.checker.check_model(quantized, full_check=True)
    return quantized, reports[0]


def constants(proto: onnx.ModelProto) -> dict[str, Array]:
    return {t.name: numpy_helper.to_array(t) for t in proto.graph.initializer}


def nodes_of(proto: onnx.ModelProto) -> dict[str, onnx.NodeProto]:
    return {n.name: n for n in proto.graph.node}


def step(proto: onnx.ModelProto, output: str) -> float:
    """The quantum of an output."""
    (reader,) = (n for n in proto.graph.node if output in n.output)
    return float(constants(proto)[reader.input[1]])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"activations": "int8"},
        {"per_channel": False},
        {"weight_bits": 7},
        {"method": "percentile"},
        {"method": "entropy", "equalize": True, "correct_bias": True},
    ],
    ids=str,
)
def test_results_are_near_and_those_of_onnxruntime(options: Mapping[str, Any]) -> None:
    proto, data = residual(), pictures()
    quantized, report = quantize(proto, data, **options)
    assert [x.operator for x in report.layers] == ["Conv", "Conv", "Conv", "Conv", "ConvTranspose", "Gemm"]
    assert all(0 < x.own < 0.1 and x.in_model is not None and 0 < x.in_model < 0.15 for x in report.layers)
    assert 0 < report.outputs["y"] < 0.1
    compiled = webnn_compile.compile(quantized)
    exact = np.concatenate([onnxruntime_results(proto, feeds)["y"] for feeds in data])
    error = 0.0
    for i, feeds in enumerate(data):
        reference, results = onnxruntime_results(quantized, feeds), compiled.run(feeds)
        assert np.abs(results["y"] - reference["y"]).max() <= 1.01 * step(quantized, "y")
        error += float(np.square(results["y"] - exact[i]).sum())
    assert (error / np.square(exact).sum()) ** 0.5 == pytest.approx(report.outputs["y"], rel=0.3)


def test_chains_stay_quantised() -> None:
    """No node of float32 is left between layers, and what moves elements keeps their scale."""
    quantized, _ = quantize(residual(), pictures())
    nodes, values = nodes_of(quantized), constants(quantized)
    dequantized = {n.output[0]: n for n in quantized.graph.node if n.op_type == "DequantizeLinear"}
    readers = operators(quantized)
    for name in ("stem", "pool", "one", "two", "add", "depthwise", "transposed", "concat", "mean", "flatten", "dense"):
        assert readers[name] == ["QuantizeLinear"], name
        assert nodes[name].input[0] in dequantized, name
    assert not {"stem_relu", "one_clip", "add_relu"} & nodes.keys()
    before, (after,) = (
        dequantized[nodes["pool"].input[0]],
        (n for n in quantized.graph.node if nodes["pool"].output[0] in n.input),
    )
    assert [values[name] for name in before.input[1:]] == [values[name] for name in after.input[1:]]
    weights = {name: dequantized[nodes[name].input[1]] for name in ("stem", "transposed", "dense")}
    assert [(w.attribute[0].i, values[w.input[1]].shape) for w in weights.values()] == [
        (0, (8,)),
        (1, (3,)),
        (0, (10,)),
    ]
    assert all(values[w.input[0]].dtype == np.int8 for w in weights.values())
    bias = dequantized[nodes["transposed"].input[2]]
    assert values[bias.input[0]].dtype == np.int32
    data = dequantized[nodes["transposed"].input[0]]
    np.testing.assert_array_equal(
        values[bias.input[1]], np.tile(values[data.input[1]] * values[weights["transposed"].input[1]], 2)
    )


def test_a_kept_clip_is_that_of_wider_ranges() -> None:
    """A value that is limited and shares its scale with one that is not keeps its limits."""
    nodes = [
        node("Conv", ["x", "k"], ["c"], "one"),
        node("Clip", ["c", "low", "high"], ["r"], "clip"),
        node("Conv", ["r", "k"], ["y"], "two"),
    ]
    weights = {"k": random((3, 3, 1, 1)), "low": np.float32(-0.5), "high": np.float32(0.5)}
    quantized, _ = quantize(model(nodes, {"x": [1, 3, 8, 8]}, ["y"], weights), pictures())
    assert "clip" in nodes_of(quantized)  # its range is not symmetric to the quantum


def test_biases_of_products_and_sizes_that_vary() -> None:
    proto = mixer()
    data = [{"tokens": np.random.default_rng(i).integers(0, 50, (1, n))} for i, n in enumerate((3, 8, 5))]
    quantized, report = quantize(proto, data, dims={"length": (1, 8)})
    assert [(x.node, x.form) for x in report.layers] == [("up", "int8"), ("down", "int8")]
    readers = operators(quantized)
    assert readers["up"] == ["Add"]
    assert readers["up_bias"] == ["QuantizeLinear"]
    compiled = webnn_compile.compile(quantized, dims={"length": (1, 8)})
    for feeds in data:
        reference = onnxruntime_results(quantized, feeds)["y"]
        assert np.abs(compiled.run(feeds)["y"] - reference).max() <= 1.01 * step(quantized, "a1_dequantized")
        np.testing.assert_allclose(reference, onnxruntime_results(proto, feeds)["y"], atol=0.15)


def test_nodes_that_are_kept() -> None:
    quantized, report = quantize(residual(), pictures(), keep=["dense", "o*e"])
    assert {x.node: x.kept for x in report.layers if x.kept} == {"dense": "--keep", "one": "--keep"}
    readers = operators(quantized)
    assert readers["one"] == ["Clip"]
    assert readers["flatten"] == ["Gemm"]  # nothing rounds what it alone reads
    assert readers["dense"] == ["Softmax"]
    with pytest.raises(InputError, match=r"--keep nothing\*: no node that is quantised has this name; they are stem, "):
        quantize(residual(), pictures(), keep=["nothing*"])


def test_a_bias_fits_whatever_its_weights() -> None:
    """Channels without weights, and biases far above the sums."""
    weights = {"k": random((4, 3, 1, 1)), "b": np.array([1e6, -3, 0, 7], np.float32)}
    weights["k"][1:3] = 0
    proto = model([node("Conv", ["x", "k", "b"], ["y"], "conv")], {"x": [1, 3, 8, 8]}, ["y"], weights)
    quantized, _ = quantize(proto, pictures())
    (bias,) = (n for n in quantized.graph.node if n.output[0] == nodes_of(quantized)["conv"].input[2])
    values = constants(quantized)
    decoded = values[bias.input[0]].astype(np.float64) * values[bias.input[1]]
    np.testing.assert_allclose(decoded, weights["b"], rtol=1e-6, atol=1e-4)


def uneven() -> onnx.ModelProto:
    """Channels of which some have weights a hundred times as large as others, and a reader that makes up for it."""
    scale = np.geomspace(0.1, 10, 8).astype(np.float32)
    weights = {
        "k0": random((8, 3, 3, 3)) * scale[:, None, None, None],
        "b0": random((8,), 1) * scale,
        "k1": random((8, 8, 3, 3), 2) / scale[:, None, None],
    }
    nodes = [
        node("Conv", ["x", "k0", "b0"], ["c0"], "one"),
        node("Relu", ["c0"], ["r0"], "relu"),
        node("Conv", ["r0", "k1"], ["y"], "two"),
    ]
    return model(nodes, {"x": [1, 3, 8, 8]}, ["y"], weights)


def test_channels_are_equalised_where_that_helps() -> None:
    proto, data = uneven(), pictures()
    _, before = quantize(proto, data)
    quantized, after = quantize(proto, data, equalize=True)
    assert after.equalized == ("one", "two")
    assert after.outputs["y"] < 0.6 * before.outputs["y"]
    exact, results = (onnxruntime_results(p, data[0])["y"] for p in (proto, quantized))
    assert np.abs(results - exact).max() < 0.05 * np.abs(exact).max()
    quantized, again = quantize(residual(), data, equalize=True)
    assert set(again.equalized) <= {"one", "stem", "two"}
    assert again.outputs["y"] <= 1.0001 * quantize(residual(), data)[1].outputs["y"]


def test_biases_are_corrected_where_that_helps() -> None:
    """Weights of one sign, of which each is rounded up by nearly half a quantum, shift the sums."""
    kernel = np.full((4, 3, 3, 3), 0.0159, np.float32)
    kernel[:, 0, 0, 0] = 1
    data = [{"x": np.abs(a["x"])} for a in pictures()]
    proto = model([node("Conv", ["x", "k"], ["y"], "conv")], {"x": [1, 3, 8, 8]}, ["y"], {"k": kernel})
    before, after = (quantize(proto, data, correct_bias=flag)[1] for flag in (False, True))
    assert (before.corrected, after.corrected) == ((), ("conv",))
    assert after.layers[0].own < before.layers[0].own
    assert len(nodes_of(quantize(proto, data, correct_bias=True)[0])["conv"].input) == 3


@pytest.mark.parametrize(
    ("proto", "data", "message"),
    [
        (model([node("Relu", ["x"], ["y"])], {"x": [1, 3, 8, 8]}, ["y"]), pictures(1), "has no Conv, ConvTranspose,"),
        (residual(), [], "there are no calibration samples"),
        (residual(), [{"z": random((1, 3, 8, 8))}], "sample 0 has no array for input 'x'; it has z"),
        (
            residual(),
            [{"x": random((1, 4, 8, 8))}],
            r"float32\[1, 4, 8, 8\], and the input takes float32\[1, 3, 8, 8\]",
        ),
        (residual(), [{"x": np.full((1, 3, 8, 8), np.nan, np.float32)}], "NaN or infinite on calibration data"),
        (residual(), [{"x": np.ones((2, 3, 8, 8), np.float32)}], "all elements of the calibration data are 1: ranges"),
        (residual(), None, "measures ranges on data: give --calibrate"),
    ],
    ids=["no layer", "no data", "no such input", "another shape", "NaN", "one value", "no folder"],
)
def test_mistakes(proto: onnx.ModelProto, data: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        webnn_compile.quantize(proto, data)


def test_seven_bits() -> None:
    (_, most), (_, fewer) = (quantize(residual(), pictures(), weight_bits=bits) for bits in (8, 7))
    assert all(a.own < b.own < 3 * a.own for a, b in zip(most.layers, fewer.layers, strict=True))
    quantized, _ = quantize(residual(), pictures(), weight_bits=7)
    weights = [a for n, a in constants(quantized).items() if a.dtype == np.int8 and a.ndim > 1]
    assert [int(np.abs(a).max()) for a in weights] == [63] * 6
    with pytest.raises(InputError, match="--weight-bits 9: choose one of 8, 7"):
        quantize(residual(), pictures(), weight_bits=9)


def test_a_quantised_model_is_refused() -> None:
    quantized, _ = quantize(residual(), pictures(1))
    with pytest.raises(InputError, match="the model is quantised already"):
        webnn_compile.quantize(quantized, pictures(1))
