"""The example of docs/operators-of-your-own.md, as a reader follows it, against NumPy on every target."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from cli.command import run
from documentation import ROOT, blocks
from drivers import need_driver
from onnx_models import assert_close, model, node, random

MARKED = [b for b in blocks(ROOT / "docs" / "operators-of-your-own.md") if b.mark.endswith("custom/test_documented.py")]
OPERATORS, MODEL, COMMANDS, IN_PYTHON, RECURRENCE = (block.text for block in MARKED)
Array = np.ndarray[Any, np.dtype[Any]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which a reader has written both files."""
    path = tmp_path_factory.mktemp("documented")
    (path / "my_ops.py").write_text(OPERATORS)
    subprocess.run([sys.executable, "-c", MODEL], cwd=path, check=True)
    return path


def expected(x: Array) -> dict[str, Array]:
    """The model by NumPy, in float64."""
    wide = x.astype(np.float64)
    swish = wide / (1 + np.exp(-1.5 * wide))
    mean = (swish * swish).mean(-1)
    normal = swish / np.sqrt(mean + 1e-5)[:, None] * (1 + np.arange(24) / 24)
    y = np.maximum(normal, 0) * wide / (1 + np.exp(-wide))
    return {"y": y.astype(np.float32), "mean": mean.astype(np.float32)}


@pytest.mark.parametrize("target", webnn_compile.TARGETS)
def test_each_target(folder: Path, target: str) -> None:
    """One build, with sizes of each run."""
    need_driver(target)
    model = webnn_compile.compile(
        folder / "gated.onnx", target, dims={"n": (1, 64)}, operators=folder / "my_ops.py", cache=False
    )
    for n in (1, 5, 64):
        x = random((n, 24), n)
        assert_close(model.run({"x": x}), expected(x))


@pytest.mark.parametrize("target", ["native", "wasm", "webgpu", "webgl"])
def test_the_recurrence(tmp_path: Path, target: str) -> None:
    """Over as many steps as each run has."""
    need_driver(target)
    (tmp_path / "recurrence.py").write_text(RECURRENCE)
    nodes = [node("Recurrence", ["x", "a"], ["h"], domain="com.example"), node("Tanh", ["h"], ["y"])]
    proto = model(
        nodes, {"x": ["t", 2, 6], "a": ["t", 2, 6]}, ["y"], imports=[onnx.helper.make_opsetid("com.example", 1)]
    )
    compiled = webnn_compile.compile(proto, target, dims={"t": (1, 12)}, operators=tmp_path / "recurrence.py")
    for steps in (1, 7, 12):
        x, a = random((steps, 2, 6), steps), random((steps, 2, 6), -steps % 100)
        rows, h = [], np.zeros((2, 6), np.float32)
        for t in range(steps):
            h = a[t] * h + x[t]
            rows.append(h)
        assert_close(compiled.run({"x": x, "a": a}), {"y": np.tanh(np.stack(rows))})


def test_commands(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    inspect, build = (shlex.split(line) for line in COMMANDS.splitlines())
    done = run(*inspect[1:])
    assert done.exit_code == 0, done.output
    assert ["com.example.Swish", "1", "all,", "by", "my_ops.py"] in [line.split() for line in done.stdout.splitlines()]
    done = run(*build[1:])
    assert done.exit_code == 0, done.output
    text = " ".join(done.stdout.split())
    assert "verified native: largest error" in text
    assert "com.example.Swish, which onnxruntime lacks, is computed by swish_by_numpy of my_ops.py" in text
    assert "com.example.RMSNorm, which onnxruntime lacks, is computed by its definition" in text
    assert (folder / "bundle" / "model.js").is_file()


def test_in_python(folder: Path) -> None:
    environment = {**os.environ, "WEBNN_COMPILE_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", IN_PYTHON], cwd=folder, env=environment, check=True, capture_output=True, text=True
    )
    assert done.stdout == "(5, 24) (5,)\n"
