"""Layers of Caffe: each agrees with NumPy, and with OpenCV's reader of Caffe models where that is installed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import webnn_compile
from caffe_models import write_model
from caffe_rows import ROWS, Row

Array = np.ndarray


def run(path: Path, row: Row) -> list[Array]:
    model = webnn_compile.compile(path)
    return list(model.run({f"x{i}": x for i, x in enumerate(row.inputs)}).values())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_layer(row: Row, tmp_path: Path) -> None:
    path = write_model(tmp_path, row.text, {"layer": row.weights} if len(row.weights) else {})
    expected = row.reference(*row.inputs, *row.weights)
    for got, want in zip(run(path, row), expected if row.tops > 1 else [expected], strict=True):
        assert got.shape == np.shape(want)
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize("row", [row for row in ROWS if row.cv], ids=lambda row: row.id)
def test_layer_as_opencv_has_it(row: Row, tmp_path: Path) -> None:
    cv2 = pytest.importorskip("cv2", reason="OpenCV is not installed: opencv-python-headless<5")
    path = write_model(tmp_path, row.text, {"layer": row.weights} if len(row.weights) else {})
    got = run(path, row)
    weights = path.with_suffix(".caffemodel")
    net = cv2.dnn.readNetFromCaffe(str(path), *([str(weights)] if weights.exists() else []))
    for i, x in enumerate(row.inputs):
        net.setInput(x, f"x{i}")
    expected = net.forward(net.getUnconnectedOutLayersNames())
    for result, want in zip(got, expected, strict=True):
        np.testing.assert_allclose(result.reshape(-1), want.reshape(-1), rtol=1e-4, atol=1e-4)


def test_every_layer_has_a_row() -> None:
    from webnn_compile.frontends.caffe.layers import LAYERS

    detectors = {"DetectionOutput", "PriorBox"}  # test_caffe_detectors
    same = {"ConvolutionDepthwise", "DepthwiseConvolution", "SigmoidCrossEntropyLoss", "SoftmaxWithLoss", "Parameter"}
    assert {row.kind for row in ROWS} == set(LAYERS) - same - detectors
