"""webnn-tune at the terminal."""

from __future__ import annotations

import errno
import importlib.util
import json
import os
from pathlib import Path
from typing import Any

import onnx
import pytest
from click.testing import CliRunner, Result
from onnx_models import model, node, random
from webnn_compile.cli.tune_command import main


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    proto = model([node("MatMul", ["x", "w"], ["y"], "dense")], {"x": [24, 96]}, ["y"], {"w": random((96, 200))})
    made = tmp_path_factory.mktemp("model") / "net.onnx"
    onnx.save(proto, made)
    return made


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments], catch_exceptions=False)


def refused(*arguments: object) -> str:
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    return result.output


@pytest.fixture(scope="module")
def tuned(path: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    records = tmp_path_factory.mktemp("records") / "r.jsonl"
    result = run(path, "--target", "native", "--trials", 8, "--records", records, "--processes", 0)
    assert result.exit_code == 0, result.output
    return records, result.output


def test_a_model_is_tuned(tuned: tuple[Path, str]) -> None:
    records, said = tuned
    assert "8 candidates for 1 kernels and layers" in said
    assert "the model by default: 0 of 8 trials, 1.000 of the default's time" in said
    lines = [json.loads(line) for line in records.read_text().splitlines()]
    assert sum(d["kind"] == "trial" and d.get("failure") != "illegal" for d in lines) == 8
    chosen = [d for d in lines if d["kind"] == "chosen"]
    if chosen:
        assert f"--records {records}" in said
    else:
        assert "None of them is faster than the default in the whole model." in said


def test_records_are_shown(tuned: tuple[Path, str], tmp_path: Path) -> None:
    records, _ = tuned
    chart = tmp_path / "progress.svg"
    result = run("show", records, "--chart", chart)
    assert result.exit_code == 0
    assert "matmul 24x200" in result.output
    for word in ("native", "default", "best", "gain", "trials", " 8 "):
        assert word in result.output
    assert "<svg" in chart.read_text()
    again = tmp_path / "again.svg"
    run("show", records, "--chart", again)
    assert again.read_bytes() == chart.read_bytes()
    run("show", records, "--chart", tmp_path / "progress.png")
    assert (tmp_path / "progress.png").read_bytes().startswith(b"\x89PNG")


def test_records_that_cannot_be_shown(tuned: tuple[Path, str], tmp_path: Path) -> None:
    records, _ = tuned
    assert "there is no record of webgl on any device" in refused("show", records, "--target", "webgl")
    assert "there is no record of any target on Firefox" in refused("show", records, "--for-device", "Firefox")
    assert "give a name that ends with .svg or .png" in refused("show", records, "--chart", tmp_path / "a.txt")
    assert "No such file or directory; give a file of webnn-tune" in refused("show", tmp_path / "none")
    assert "give another file" in refused("show", records, "--chart", tmp_path / "none" / "a.svg")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "native", "--device", "any"], "the target native is tuned on this machine; leave --device out"),
        (["--target", "cuda"], "'cuda' is not one of 'native', 'wasm', 'webgpu', 'webgl'"),
        ([], "Missing option '--target'"),
        (["--target", "wasm", "--device", "browser:lynx"], "give browser:chromium, browser:firefox or a device's name"),
        (["--target", "wasm", "--device", "any", "--broker", "http://127.0.0.1:9"], "no broker answers at 127.0.0.1:9"),
        (["--target", "native", "--time-budget", "soon"], "'soon' is not a time such as 90s, 10m or 1h"),
        (["--target", "native", "--trials", "0"], "0 is not in the range x>=1"),
    ],
)
def test_options_that_cannot_work(path: Path, tmp_path: Path, options: list[str], message: str) -> None:
    said = refused(path, *options, "--records", tmp_path / "r")
    assert message in " ".join(said.split())


def test_a_missing_model_and_extra(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "none.onnx" in refused(tmp_path / "none.onnx", "--target", "native", "--records", tmp_path / "r")
    find = importlib.util.find_spec

    def without(name: str, *given: Any) -> Any:
        return None if name == "playwright" else find(name, *given)

    monkeypatch.setattr(importlib.util, "find_spec", without)
    said = refused(path, "--target", "wasm", "--records", tmp_path / "r")
    assert "webnn-tune needs playwright: pip install 'webnn-compile[tune]'" in said


def test_a_full_disk_is_one_message(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    records = tmp_path / "r"
    said = refused(path, "--target", "native", "--trials", 4, "--records", records, "--processes", 0)
    assert f"records {records}: No space left on device; all records before this one are kept" in said
    assert "Traceback" not in said


def test_help() -> None:
    assert "webnn-tune model.onnx --target wasm --device browser:chromium" in run("--help").output
    said = run("run", "--help").output
    for option in ("--target", "--device", "--trials", "--time-budget", "--records", "--headed", "--no-layers"):
        assert option in said
