"""`--watch`: what is compiled again, and when."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx_models import model, node
from webnn_compile.cli.explained import INTERRUPTED
from webnn_compile.cli.watch import files_of


def save(path: Path, scale: float) -> None:
    constants = {"w": np.full((4, 4), scale, np.float32)}
    onnx.save(model([node("MatMul", ["x", "w"], ["y"])], {"x": [2, 4]}, ["y"], constants), path)


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    save(tmp_path / "model.onnx", 1)
    command = [sys.executable, "-m", "webnn_compile", "model.onnx", "--out", "out", "--targets", "wasm", "--watch"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as process:
        yield process
        process.kill()


def output_until_waiting(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        if line.startswith("Waiting for a file to change"):
            return "".join(lines)
        lines.append(line)
    raise AssertionError("".join(lines))


def weights(folder: Path) -> set[str]:
    return {path.name for path in (folder / "out").glob("weights-*.bin")}


def test_a_changed_model_is_compiled_again(watched: subprocess.Popen[str], tmp_path: Path) -> None:
    assert "model.onnx -> out" in output_until_waiting(watched)
    first = weights(tmp_path)
    save(tmp_path / "model.onnx", 2)
    assert "model.onnx -> out" in output_until_waiting(watched)
    assert weights(tmp_path) not in (first, set())
    second = weights(tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"half a model")
    assert "error: " in output_until_waiting(watched)
    assert weights(tmp_path) == second
    save(tmp_path / "model.onnx", 1)
    assert "model.onnx -> out" in output_until_waiting(watched)
    assert weights(tmp_path) == first
    watched.send_signal(signal.SIGINT)
    assert watched.wait(10) == INTERRUPTED


def test_a_mistake_at_first_is_mended_by_a_change(watched: subprocess.Popen[str], tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"no model")
    output_until_waiting(watched)
    save(tmp_path / "model.onnx", 3)
    output_until_waiting(watched)
    assert weights(tmp_path)


def test_files_of_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("format.json", "labels.txt"):
        Path(name).touch()
    for name in ("report.html", "quantised.onnx"):  # which a build writes
        Path(name).touch()
    Path("out").mkdir()
    constants = {"w": np.ones((4, 4), np.float32)}
    proto = model([node("MatMul", ["x", "w"], ["y"])], {"x": [2, 4]}, ["y"], constants)
    onnx.save(proto, "model.onnx", save_as_external_data=True, location="model.data", size_threshold=0)
    arguments = ["model.onnx", "--picture", "x=format.json", "--labels=labels.txt", "--out", "out", "--dim", "N=1"]
    arguments += ["--report", "report.html", "--save-quantized=quantised.onnx"]
    assert sorted(map(str, files_of(arguments))) == ["format.json", "labels.txt", "model.data", "model.onnx"]
    Path("model.onnx").write_bytes(b"half")
    assert files_of(["model.onnx"]) == [Path("model.onnx")]
