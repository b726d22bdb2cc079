"""Weights alone in fewer bits."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
import webnn_compile
from onnx_models import Array, model, node, onnxruntime_results, random
from quantization.networks import mixer, operators
from webnn_compile.driver.quantization_data import quantization_data
from webnn_compile.errors import InputError
from webnn_compile.quantization.encode import encode_weights
from webnn_compile.quantization.result import Quantization
from webnn_compile.quantization.settings import WEIGHT_FORMATS, parse_weights

ERRORS = {"f16": 5e-4, "int8": 0.01, "int4": 0.12, "int4:block=8": 0.09, "nf4": 0.1, "int8:block=8": 0.006}


def relative(value: Array, exact: Array) -> float:
    return float(np.linalg.norm(value - exact) / np.linalg.norm(exact))


@pytest.mark.parametrize("text", ERRORS)
@pytest.mark.parametrize("shape", [(64, 48), (48, 64), (40, 33, 3, 3)], ids=str)
def test_weights_are_near(text: str, shape: tuple[int, ...]) -> None:
    weights = random(shape)
    form = parse_weights(text)
    stored = encode_weights(weights, form, 1, 0)
    assert stored.decoded.dtype == np.float32
    assert 0 < relative(stored.decoded, weights) < ERRORS[text]
    bits = {"f16": 16, "int8": 8}.get(form.kind, 4) + 32 / (form.block or 32)
    assert stored.bytes <= 1.3 * weights.size * bits / 8 + 200


@pytest.mark.parametrize("text", ["int8", "int4", "nf4", "int4:block=7"])
def test_zeros_stay_zeros(text: str) -> None:
    weights = random((8, 64))
    weights[2] = 0
    decoded = encode_weights(weights, parse_weights(text), 1, 0).decoded
    assert not decoded[2].any()
    assert np.isfinite(decoded).all()


@pytest.mark.parametrize("text", ["f16", "int8", "int4", "nf4", "int4:block=16"])
def test_a_model(text: str) -> None:
    reports: list[Quantization] = []
    proto, feeds = mixer(), {"tokens": np.array([[3, 1, 4, 1, 5]])}
    quantized = webnn_compile.quantize(
        proto, [feeds], weights=text, dims={"length": (1, 8)}, report=reports.append, keep=["down"]
    )
    onnx.checker.check_model(quantized, full_check=True)
    (report,) = reports
    assert {x.node: (x.operator, x.kept) for x in report.layers} == {
        "embed": ("Gather", ""),
        "up": ("MatMul", ""),
        "down": ("MatMul", "--keep"),
    }
    exact, result = (onnxruntime_results(p, feeds)["y"] for p in (proto, quantized))
    assert relative(result, exact) == pytest.approx(report.outputs["y"], rel=1e-2, abs=1e-5)
    assert 0 < report.outputs["y"] < 0.2
    assert all(0 < x.own < 0.2 for x in report.layers)
    assert operators(quantized)["up"] == ["Add"]
    compiled = webnn_compile.compile(quantized, dims={"length": (1, 8)})
    assert relative(compiled.run(feeds)["y"], result) < 1e-5


@pytest.mark.parametrize("text", ["f16", "int8", "int4", "nf4", "nf4:block=300"])
def test_weights_ship_in_few_bits(text: str, tmp_path: Path) -> None:
    proto = model([node("MatMul", ["x", "w"], ["y"])], {"x": [2, 256]}, ["y"], {"w": random((256, 256))})
    reports: list[Quantization] = []
    file = tmp_path / "quantized.onnx"
    file.write_bytes(webnn_compile.quantize(proto, weights=text, report=reports.append).SerializeToString())
    (layer,) = reports[0].layers
    files = webnn_compile.build_bundle(file, "webgl").files
    shipped = sum(len(f.data) for f in files if f.kind == "weights")
    assert shipped < 1.03 * layer.bytes[1] < 0.17 * {"f16": 4, "int8": 2}.get(text, 1) * 256**2 * 4


def test_layers_with_large_errors_stay_in_float32() -> None:
    """Four bits leave nothing of weights that share a scale with much larger ones."""
    weights = {"rough": random((64, 64)), "fine": random((64, 64), 1)}
    weights["rough"][::8] *= 300
    # What the large ones are multiplied by is zero.
    mask = np.ones(64, np.float32)
    mask[::8] = 0
    nodes = [
        node("Mul", ["x", "mask"], ["masked"]),
        node("MatMul", ["masked", "rough"], ["m"], "rough"),
        node("MatMul", ["m", "fine"], ["y"], "fine"),
    ]
    reports: list[Quantization] = []
    proto = model(nodes, {"x": [2, 64]}, ["y"], {**weights, "mask": mask})
    quantized = webnn_compile.quantize(proto, weights="int4", report=reports.append)
    kept = {x.node: (x.form, x.kept) for x in reports[0].layers}
    assert kept == {"rough": ("float32", "its error is above 25%"), "fine": ("int4:block=32", "")}
    assert sum(t.data_type == onnx.TensorProto.INT4 for t in quantized.graph.initializer) == 1


def test_weights_that_layers_share_are_stored_once() -> None:
    nodes = [node("MatMul", ["x", "w"], ["m"], "one"), node("MatMul", ["m", "w"], ["y"], "two")]
    proto = model(nodes, {"x": [2, 64]}, ["y"], {"w": random((64, 64)) / 8})
    quantized = webnn_compile.quantize(proto, weights="int8")
    assert [t.data_type for t in quantized.graph.initializer].count(onnx.TensorProto.INT8) == 1


def test_few_weights_are_left() -> None:
    proto = model([node("MatMul", ["x", "w"], ["y"])], {"x": [2, 8]}, ["y"], {"w": random((8, 8))})
    with pytest.raises(InputError, match="MatMul with 1024 or more constant weights of float32: leave --weights out"):
        webnn_compile.quantize(proto, weights="int8")


@pytest.mark.parametrize("text", ["int3", "f16:block=4", "int4:block=0", "int4:block", "int4:blocks=3", ""])
def test_formats_that_there_are_not(text: str) -> None:
    with pytest.raises(InputError, match=f"--weights .*choose one of {', '.join(WEIGHT_FORMATS)}"):
        parse_weights(text)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("text", ["f16", "int8", "int4", "nf4"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_no_numbers_stay(text: str, value: float) -> None:
    weights = {"odd": random((64, 64)), "fine": random((64, 64), 1)}
    weights["odd"][3, 4] = value
    nodes = [node("MatMul", ["x", name], [f"y{i}"], name) for i, name in enumerate(weights)]
    reports: list[Quantization] = []
    webnn_compile.quantize(model(nodes, {"x": [2, 64]}, ["y0", "y1"], weights), weights=text, report=reports.append)
    kept = {x.node: x.kept for x in reports[0].layers}
    assert kept == {"odd": "its weights are NaN or infinite", "fine": ""}
    data = quantization_data(reports[0])
    assert json.loads(json.dumps(data, allow_nan=False)) == data | {"equalized": [], "corrected": []}
    assert data["outputs"]["y0"] is None


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [1e30, 1e-30])
def test_errors_of_large_and_small_weights(scale: float) -> None:
    """Squares of these are no float32."""
    product = node("MatMul", ["x", "w"], ["y"])
    reports: list[Quantization] = []
    for factor in (1, scale):
        proto = model([product], {"x": [2, 64]}, ["y"], {"w": (random((64, 64)) * factor).astype(np.float32)})
        webnn_compile.quantize(proto, weights="int8", report=reports.append)
    (usual,), (other,) = (r.layers for r in reports)
    assert 0.001 < usual.own < 0.01
    assert other.own == pytest.approx(usual.own, rel=1e-3)


def test_weights_of_a_quantised_model_are_not_rounded_again() -> None:
    weights = {"a": random((64, 64)), "b": random((64, 64), 1)}
    nodes = [node("MatMul", ["x", "a"], ["m"], "first"), node("MatMul", ["m", "b"], ["y"], "second")]
    quantized = webnn_compile.quantize(model(nodes, {"x": [2, 64]}, ["y"], weights), weights="int8", keep=["second"])
    reports: list[Quantization] = []
    again = webnn_compile.quantize(quantized, weights="int4", report=reports.append)
    first, second = reports[0].layers
    assert (first.kept, first.bytes) == ("its weights are in fewer bits already", (64 * 64 + 4 * 64,) * 2)
    assert (second.kept, second.form) == ("", "int4:block=32")
    types = [t.data_type for t in again.graph.initializer if len(t.dims) == 2 and t.dims[0] == 64]
    assert sorted(types) == sorted([onnx.TensorProto.INT8, onnx.TensorProto.INT4])


def test_weights_of_few_bits_that_are_kept_stay_as_they_are() -> None:
    proto = model([node("MatMul", ["x", "w"], ["y"])], {"x": [2, 256]}, ["y"], {"w": random((256, 256))})
    quantized = webnn_compile.quantize(proto, weights="int4")
    again = webnn_compile.quantize(quantized, weights="nf4", keep=["MatMul*"])
    assert again.ByteSize() < 1.02 * quantized.ByteSize()
    results = [onnxruntime_results(p, {"x": random((2, 256), 1)})["y"] for p in (quantized, again)]
    np.testing.assert_array_equal(*results)
