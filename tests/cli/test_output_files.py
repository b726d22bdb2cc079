"""Files that a command writes besides its folder: where one cannot be written, nothing is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from cli.command import SHAPE, contents, refused, run
from onnx_models import model, node, random

FULL = "/dev/full"
"""A file that opens, and cannot be written to: as on a disk that is full by the time that the build ends."""
pytestmark = pytest.mark.skipif(not Path(FULL).exists(), reason="no device that is always full")


@pytest.mark.parametrize("targets", ["wasm", "c", "native"])
def test_a_report_that_cannot_be_written_leaves_no_folder(path: Path, tmp_path: Path, targets: str) -> None:
    build = (path, "--out", tmp_path / "out", *SHAPE, "--targets", targets)
    refused(run(*build, "--report", FULL), f"--report {FULL}: cannot be written: No space left on device")
    assert [p.name for p in tmp_path.iterdir()] == ["net.onnx"]


def test_nor_does_it_replace_one(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    build = (path, "--out", out, *SHAPE, "--targets", "wasm", "--golden", "off")
    assert run(*build).exit_code == 0
    before = contents(out)
    refused(run(*build, "--coop-coep", "--force", "--report", FULL), "cannot be written: No space left")
    assert contents(out) == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["net.onnx", "out"]


def test_a_report_of_several_models(path: Path, tmp_path: Path) -> None:
    """The second has a name that is too long."""
    report = tmp_path / f"{'r' * 245}.json"
    models = (f"a={path}", f"{'b' * 20}={path}")
    refused(run(*models, "--out", tmp_path / "out", *SHAPE, "--targets", "wasm", "--report", report), "name too long")
    assert [p.name for p in tmp_path.iterdir()] == ["net.onnx"]


def test_a_quantised_model_that_cannot_be_written(tmp_path: Path) -> None:
    dense = tmp_path / "dense.onnx"
    onnx.save(model([node("MatMul", ["x", "w"], ["y"])], {"x": [1, 64]}, ["y"], {"w": random((64, 64))}), dense)
    build = (dense, "--out", tmp_path / "out", "--targets", "wasm", "--weights", "int8")
    refused(run(*build, "--save-quantized", FULL), f"--save-quantized {FULL}: cannot be written: No space left")
    assert [p.name for p in tmp_path.iterdir()] == ["dense.onnx"]


def test_quantised_models_have_files_of_their_own(tmp_path: Path) -> None:
    dense = tmp_path / "dense.onnx"
    onnx.save(model([node("MatMul", ["x", "w"], ["y"])], {"x": [1, 64]}, ["y"], {"w": random((64, 64))}), dense)
    build = (f"a={dense}", f"b={dense}", "--out", tmp_path / "out", "--targets", "wasm", "--weights", "int8")
    one, other = tmp_path / "q.onnx", tmp_path / "r.onnx"
    message = "--save-quantized .*/q.onnx: 2 models would be written to this file; give each another one, as in --save"
    refused(run(*build, "--save-quantized", one), message)
    assert [p.name for p in tmp_path.iterdir()] == ["dense.onnx"]
    assert run(*build, "--save-quantized", f"a:{one}", "--save-quantized", f"b:{other}").exit_code == 0
    assert one.exists()
    assert other.exists()


@pytest.mark.parametrize("option", ["--report", "--save-quantized"])
def test_no_other_file_lies_in_the_folder(path: Path, tmp_path: Path, option: str) -> None:
    (tmp_path / "out").mkdir()
    quantised = ("--weights", "int8") if option == "--save-quantized" else ()
    build = (path, "--out", tmp_path / "out", *SHAPE, *quantised)
    refused(run(*build, option, tmp_path / "out" / "file"), f"{option} .*/out/file lies in --out .*; give a file in")
    assert not contents(tmp_path / "out")


def test_dumps_that_cannot_be_written(path: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "webnn_compile", path, "--out", tmp_path / "out", *SHAPE, "--dump", "after:import"]
    with Path(FULL).open("w") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 2
    assert "error: standard output cannot be written: No space left on device" in ended.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["net.onnx"]


def test_python_writes_all_or_nothing(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import webnn_compile
    from webnn_compile.errors import InputError

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    shapes = {"x": (1, 3, 8, 8)}
    report = tmp_path / "r.html"
    monkeypatch.setattr("webnn_compile.system.put_files.Path.replace", full)
    with pytest.raises(InputError, match=r"--report .*r\.html: cannot be written: No space left"):
        webnn_compile.build_bundle(path, "wasm", shapes, out=tmp_path / "out", report=report)
    assert [p.name for p in tmp_path.iterdir()] == ["net.onnx"]
