"""--quantize, --weights and their options on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from cli.command import SHAPE, network, refused, run
from PIL import Image


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model, `data` of pictures that show noise, and labels of these."""
    monkeypatch.chdir(tmp_path)
    onnx.save(network(), "net.onnx")
    (tmp_path / "data").mkdir()
    for i in range(4):
        pixels = np.random.default_rng(i).integers(0, 256, (8, 8, 3)).astype(np.uint8)
        Image.fromarray(pixels).save(tmp_path / "data" / f"{i}.png")
    (tmp_path / "expected.json").write_text(json.dumps({"accepted": {f"{i}.png": [0, 1, 2, 3, 4] for i in range(4)}}))
    return tmp_path


def test_int8(folder: Path) -> None:
    options = (
        "--calibrate",
        "data",
        "--expected",
        "expected.json",
        "--accuracy-drop",
        "0",
        "--mean",
        "0.5",
        "--std",
        "0.2",
    )
    files = ("--save-quantized", "q.onnx", "--report", "report.json", "--verify", "--targets", "wasm")
    done = run("net.onnx", "--out", "out", *SHAPE, "--quantize", "int8", *options, *files)
    assert done.exit_code == 0, done.output
    assert "quantised  2 of 2 layers: int8, values between layers uint8 by minmax" in done.output
    assert "top-1: 4 of 4 right, in float32 4" in done.output
    table = done.output[done.output.index("own error") :].splitlines()[1:3]
    assert {line.split()[0] for line in table} == {"conv", "dense"}
    data = json.loads(Path("report.json").read_text())["quantization"]
    assert {x["node"]: x["weights"] for x in data["layers"]} == {"conv": "int8", "dense": "int8"}
    assert all(0 < x["error"] < 0.1 and 0 < x["error_in_model"] < 0.1 for x in data["layers"])
    assert data["top1"] == {"labelled": 4, "float32": 4, "quantized": 4}
    assert data["samples"] == 4
    saved = onnx.load("q.onnx")
    assert {n.op_type for n in saved.graph.node} >= {"QuantizeLinear", "DequantizeLinear", "Conv"}
    assert any(t.data_type == onnx.TensorProto.INT8 for t in saved.graph.initializer)


def test_weights_of_a_model_whose_sizes_vary(folder: Path) -> None:
    onnx_model = network()
    onnx_model.graph.initializer[0].CopyFrom(
        onnx.numpy_helper.from_array(np.random.default_rng(0).standard_normal((48, 3, 3, 3)).astype(np.float32), "k")
    )
    for tensor, shape in zip(onnx_model.graph.initializer[1:], ((48,), (48,), (48, 5)), strict=True):
        tensor.CopyFrom(onnx.numpy_helper.from_array(np.abs(np.ones(shape, np.float32)), tensor.name))
    onnx.save(onnx_model, "wide.onnx")
    options = ("--dim", "batch=1..4", "--weights", "int8", "--report", "report.json", "--targets", "wasm")
    done = run("wide.onnx", "--out", "out", *options)
    assert done.exit_code == 0, done.output
    data = json.loads(Path("report.json").read_text())
    assert data["dimensions"] == [{"name": "batch", "least": 1, "most": 4, "multiple": 1}]
    assert [x["node"] for x in data["quantization"]["layers"]] == ["conv"]
    assert "error of outputs on 1 run:" in done.output


def test_a_library(folder: Path) -> None:
    done = run("net.onnx", "--out", "c", *SHAPE, "--quantize", "int8", "--calibrate", "data", "--targets", "c")
    assert done.exit_code == 0, done.output
    assert "2 of 2 layers" in done.output


INT8, WEIGHTS = ("--quantize", "int8"), ("--weights", "int8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (INT8, "--quantize int8 measures ranges on data: give --calibrate FOLDER"),
        ((*INT8, "--calibrate", "none"), "--calibrate none: it does not exist; give a folder"),
        ((*INT8, "--calibrate", "empty"), "--calibrate empty: it holds no calibration data"),
        ((*INT8, "--calibrate", "data", *WEIGHTS), "--quantize and --weights exclude each other"),
        ((*INT8, "--calibrate", "data", "--keep", "none"), "--keep none: no node .* they are conv,"),
        ((*INT8, "--calibrate", "data", "--accuracy-drop", "1"), "--accuracy-drop compares with what"),
        ((*INT8, "--calibrate", "data", "--std", "0"), r"std is \[0.0\]; give one number, or three.* above 0"),
        ((*INT8, "--calibrate", "data", "--mean", "1,2"), r"mean is \[1.0, 2.0\]; give one number, or three"),
        ((*INT8, "--calibrate", "data", "--mean", "a"), "'a' is not of the form 0.485,0.456,0.406"),
        (
            (*INT8, "--calibrate", "data", "--save-quantized", "data"),
            "--save-quantized data is a folder; give the path of a file",
        ),
        ((*INT8, "--calibrate", "data", "--expected", "net.onnx"), "--expected net.onnx: it is no JSON"),
        (("--quantize", "int4"), "'int4' is not 'int8'; weights alone may be others: --weights int4"),
        (
            (*WEIGHTS, "--save-quantized", "net.onnx"),
            "--save-quantized net.onnx is a file that is read, too; give another file",
        ),
        (("--weights", "int5"), "--weights int5: choose one of f16, int8, int4, nf4"),
        ((*WEIGHTS, "--per-tensor"), "--per-tensor, .* are for --quantize int8: give that, too"),
        (("--keep", "conv"), "--keep and --save-quantized are for --quantize or --weights: give that, too"),
        (WEIGHTS, "has no Conv, ConvTranspose, Gather, Gemm, MatMul with 1024 or more constant weights of float32"),
    ],
)
def test_mistakes(folder: Path, options: tuple[str, ...], message: str) -> None:
    (folder / "empty").mkdir()
    refused(run("net.onnx", "--out", "out", *SHAPE, *options), message)
    assert not (folder / "out").exists()
