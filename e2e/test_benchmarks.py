"""The benchmarks' one command in a browser, with our engine alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from compiled import ROOT
from onnx_models import model, node, random


@pytest.mark.parametrize("browser", ["chromium", "firefox"])
def test_one_command(browser: str, tmp_path: Path) -> None:
    nodes = [node("Conv", ["x", "k"], ["c"]), node("Relu", ["c"], ["y"])]
    file = tmp_path / "benchmarks-tiny.onnx"
    onnx.save(model(nodes, {"x": [1, 3, 12, 12]}, ["y"], {"k": random((8, 3, 3, 3))}), file)
    command = [sys.executable, "-m", "benchmarks", "run", str(file), "--engines", "ours-wasm,ours-wasm-2"]
    command += ["--browsers", browser, "--rounds", "1", "--runs", "4", "--json", str(tmp_path / "r.json")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "r.json").read_text())
    for measurement in found["measurements"]:
        (result,) = measurement["rounds"]
        if "no " + browser in result.get("failed", "") and os.environ.get("CI") != "true":
            pytest.skip(result["failed"])
        assert len(result["times_ms"]) == 4, result
        assert result["error"] < 1e-4
        assert result["isolated"]
    (profile,) = found["profiles"]
    assert "conv_relu" in [k["name"] for k in profile["kernels"]]
    assert profile["gflops"] > 0
    assert "Kernels of benchmarks-tiny" in done.stdout
    command = [sys.executable, "-m", "benchmarks", "first", str(file), "--engines", "ours-wasm", "--line", "20"]
    command += ["--browsers", browser, "--rounds", "1", "--json", str(tmp_path / "f.json")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0, done.stderr
    ((result,),) = (m["rounds"] for m in json.loads((tmp_path / "f.json").read_text())["measurements"])
    assert result["bytes"] > 20_000
    assert result["error"] < 1e-4
    assert "First results over a line of 20 Mbit/s" in done.stdout
