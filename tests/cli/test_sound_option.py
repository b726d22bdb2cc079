"""--sound on the command line, with --verify and calibration data."""

from __future__ import annotations

import json
import re
import wave
from pathlib import Path

import numpy as np
import onnx
import pytest
from cli.command import refused, run
from onnx_models import model, node, random

FORMAT = {"like": "whisper", "rate": 8000, "frame": 64, "hop": 32, "mels": 8, "fmax": 4000}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model of features [1, 8, 12], their format, and sounds."""
    monkeypatch.chdir(tmp_path)
    nodes = [node("Conv", ["x", "k"], ["c"], "conv"), node("GlobalAveragePool", ["c"], ["y"], "pool")]
    onnx.save(model(nodes, {"x": [1, 8, 12]}, ["y"], {"k": random((4, 8, 3))}), "net.onnx")
    Path("format.json").write_text(json.dumps(FORMAT))
    Path("data").mkdir()
    for i in range(3):
        with wave.open(f"data/{i}.wav", "wb") as file:
            file.setparams((2, 2, 22050, 0, "NONE", ""))
            file.writeframes(np.random.default_rng(i).integers(-9999, 9999, 2000).astype("<i2").tobytes())
    return tmp_path


def test_verify() -> None:
    done = run("net.onnx", "--out", "out", "--sound", "x=format.json", "--verify", "--targets", "wasm,webgpu")
    assert done.exit_code == 0, done.output
    text = " ".join(done.output.split())
    assert re.search(r"input x: a sound of any length, cut after \S+ seconds, with silence behind a shorter one", text)
    assert " sizes " not in text


def test_calibration() -> None:
    options = ("--quantize", "int8", "--calibrate", "data", "--targets", "wasm", "--report", "report.json")
    done = run("net.onnx", "--out", "out", "--sound", "x=format.json", *options)
    assert done.exit_code == 0, done.output
    assert json.loads(Path("report.json").read_text())["quantization"]["samples"] == 3
    refused(run("net.onnx", "--out", "other", *options), "say how it fills the input by --sound INPUT=FORMAT")


def test_mistakes() -> None:
    refused(run("net.onnx", "--out", "out", "--sound", "whisper"), "'whisper' is not of the form input=whisper")
    refused(run("net.onnx", "--out", "out", "--sound", "x=whispr"), "'whispr' is no format of sounds; choose one of")
    refused(run("net.onnx", "--out", "out", "--sound", "x=whisper"), "has 80 mels in each frame: it fills an input of")
