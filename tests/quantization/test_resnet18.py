"""ResNet18 in eight bits, by the photographs beside the repository."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
import webnn_compile
from test_models import SHARED
from test_photographs import preprocess
from webnn_compile.quantization.result import Quantization

MODEL, PHOTOGRAPHS = SHARED / "models" / "resnet18_imagenet.onnx", SHARED / "photos"


@pytest.mark.skipif(
    not (MODEL.is_file() and PHOTOGRAPHS.is_dir()),
    reason=f"there is no {MODEL} or {PHOTOGRAPHS} (WEBNN_SHARED may name another folder)",
)
def test_resnet18(tmp_path: Path) -> None:
    right = PHOTOGRAPHS / "expected.json"
    reports: list[Quantization] = []
    quantized = webnn_compile.quantize(MODEL, PHOTOGRAPHS, dims={"N": 1}, expected=right, report=reports.append)
    file = tmp_path / "int8.onnx"
    file.write_bytes(quantized.SerializeToString())
    assert file.stat().st_size < 0.26 * MODEL.stat().st_size
    (report,) = reports
    assert len(report.layers) == 21
    assert all(x.own < 0.05 and x.in_model is not None and x.in_model < 0.12 for x in report.layers)
    assert report.outputs["output"] < 0.08
    assert report.exact is not None
    assert report.accuracy is not None
    assert report.exact.of == 12
    assert report.accuracy.right >= report.exact.right - 1
    # onnxruntime says the same of the file.
    accepted = json.loads(right.read_text())["accepted"]
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    right = [
        int(np.argmax(session.run(None, {"input": preprocess(PHOTOGRAPHS / n)})[0])) in accepted[n] for n in accepted
    ]
    assert abs(sum(right) - report.accuracy.right) <= 1
