"""Layers are left in float32 until enough of the labelled samples are recognised."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import webnn_compile
from onnx_models import Array, model, node, onnxruntime_results, random
from quantization.networks import pictures, residual
from webnn_compile.errors import InputError
from webnn_compile.quantization.quantize_static import _fewest
from webnn_compile.quantization.result import Quantization

SAMPLES = 24


def classifier(folder: Path) -> tuple[Path, Path]:
    """A model of four layers, of which one has an operand with an outlier, samples of it, and as their labels what it
    says in float32."""
    one_hot = np.eye(16, dtype=np.float32)
    outlier = np.where(np.arange(16) == 15, np.float32(3000), np.float32(1))
    nodes = [
        node("MatMul", ["x", "w0"], ["h0"], "first"),
        node("Mul", ["h0", "outlier"], ["wide"], "scale"),
        node("MatMul", ["wide", "w1"], ["h1"], "rough"),
        node("MatMul", ["h1", "w2"], ["h2"], "third"),
        node("MatMul", ["h2", "w3"], ["y"], "last"),
    ]
    w1 = one_hot.copy()
    w1[15] = 0
    weights = {"w0": one_hot + random((16, 16), 1) / 50, "outlier": outlier, "w1": w1}
    weights |= {"w2": one_hot + random((16, 16), 2) / 50, "w3": one_hot[:, :8] + random((16, 8), 3) / 50}
    proto = model(nodes, {"x": [1, 16]}, ["y"], weights)
    labels = {}
    for i in range(SAMPLES):
        x = random((1, 16), 10 + i)
        np.save(folder / f"{i}.npy", x)
        labels[f"{i}.npy"] = [int(onnxruntime_results(proto, {"x": x})["y"].argmax())]
    file, right = folder / "model.onnx", folder / "expected.json"
    file.write_bytes(proto.SerializeToString())
    right.write_text(json.dumps({"accepted": labels}))
    return file, right


def test_the_worst_layer_is_left_in_float32(tmp_path: Path) -> None:
    file, right = classifier(tmp_path)
    reports: list[Quantization] = []
    for allowed in (None, 100, 10):
        webnn_compile.quantize(file, tmp_path, expected=right, accuracy_drop=allowed, report=reports.append)
    free, most, few = reports
    assert free.exact is not None
    assert free.accuracy is not None
    assert (free.exact.right, free.exact.of) == (SAMPLES, SAMPLES)
    assert free.accuracy.percent < 90
    assert not any(x.kept for r in (free, most) for x in r.layers)
    assert few.accuracy is not None
    assert few.accuracy.percent >= 90
    assert {x.node: (x.form, x.kept) for x in few.layers if x.kept} == {"rough": ("float32", "--accuracy-drop 10")}


@pytest.mark.parametrize("most", [1, 2, 7, 8])
def test_as_few_layers_as_will_do(most: int) -> None:
    for needed in range(most + 1):
        tried: list[int] = []

        def holds(count: int, needed: int = needed, tried: list[int] = tried) -> bool:
            tried.append(count)
            return count >= needed

        assert _fewest(holds, most) == needed
        assert len(tried) == len(set(tried)) <= 2 * most.bit_length() + 1


def test_expected_classes_are_needed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--accuracy-drop compares with what .* give --expected"):
        webnn_compile.quantize(residual(), pictures(1), accuracy_drop=1)
    with pytest.raises(InputError, match="--accuracy-drop 101: give percentage points, from 0 to 100"):
        webnn_compile.quantize(residual(), pictures(1), accuracy_drop=101, expected=tmp_path)


def test_names_of_arrays_are_no_expected(tmp_path: Path) -> None:
    labels: dict[str, Array] = {}
    (tmp_path / "expected.json").write_text(json.dumps({"accepted": labels}))
    with pytest.raises(InputError, match="labels none of the calibration files"):
        webnn_compile.quantize(residual(), pictures(1), expected=tmp_path / "expected.json")
