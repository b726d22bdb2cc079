"""webnn-tune at the terminal."""

from __future__ import annotations

import contextlib
import errno
import importlib.util
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import onnx
import pytest
from click.testing import CliRunner, Result
from onnx_models import model, node, random
from python_device import PythonDevice, python_device
from webnn_compile.cli import tune_command
from webnn_compile.cli.command import main as compile_command
from webnn_compile.cli.tune_command import main
from webnn_compile.driver.options import Options
from webnn_compile.errors import InputError
from webnn_compile.records.tuning_record import TuningRecord
from webnn_compile.rpc import browsers
from webnn_compile.rpc.messages import Message
from webnn_compile.rpc.start_broker import Address, start_broker
from webnn_compile.tune.status import Summary


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


def test_names_are_shown_as_they_are(tmp_path: Path) -> None:
    """Not as Rich's markup, which they may look like."""
    records = tmp_path / "r.jsonl"
    names = "scores[head] 1x8", "scores[/head]", "a:smile:b", "two\nlines"
    lines = (
        TuningRecord("trial", f"kernel-{i}", "wasm", "tab[bold] [/x]", {}, kernel=name, ms=1.0, base=2.0).to_line()
        for i, name in enumerate(names)
    )
    records.write_text("".join(lines))
    result = run("show", records)
    assert result.exit_code == 0, result.output
    for shown in ("wasm on tab[bold] [/x]", *names[:3], "two\\x0alines"):
        assert shown in result.output


def test_no_file_that_is_read_is_written_to(tuned: tuple[Path, str], tmp_path: Path) -> None:
    records, _ = tuned
    before = records.read_bytes()
    assert "is a file that is read, too; give another file" in refused("show", records, "--chart", records)
    assert records.read_bytes() == before
    model = tmp_path / "m.onnx"
    model.write_bytes(b"model")
    search = (model, "--target", "native", "--weights", "int8")
    assert "--records" in (said := refused(*search, "--records", model))
    assert "is a file that is read, too" in said
    both = tmp_path / "both"
    said = refused(*search, "--records", both, "--save-quantized", both)
    assert "is the file of --records, too; give each another one" in said
    assert model.read_bytes() == b"model"
    assert not both.exists()


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
        (["--target", "metal"], "'metal' is not one of 'native', 'wasm', 'webgpu', 'webgl'"),
        ([], "Missing option '--target'"),
        (["--target", "wasm", "--device", "browser:lynx"], "give browser:chromium, browser:firefox or a device's name"),
        (
            ["--target", "wasm", "--device", "any", "--broker", "http://127.0.0.1:9/#t"],
            "no broker answers at 127.0.0.1:9",
        ),
        (["--target", "wasm", "--device", "any"], "no token for 127.0.0.1:8765: give the whole address"),
        (["--target", "wasm", "--device", "chromium"], "--device chromium: to start one, give browser:chromium"),
        (["--target", "native", "--time-budget", "soon"], "'soon' is not a time such as 90s, 10m or 1h"),
        (["--target", "native", "--time-budget", "9" * 400], "is longer than 1000000000 seconds"),
        (["--target", "native", "--trials", "0"], "0 is not in the range x>=1"),
    ],
)
def test_options_that_cannot_work(path: Path, tmp_path: Path, options: list[str], message: str) -> None:
    said = refused(path, *options, "--records", tmp_path / "r")
    assert message in " ".join(said.split())


def test_a_search_is_of_the_kernels_of_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Options that decide which kernels a model has are the same."""
    nodes = [node("GlobalAveragePool", ["image"], ["means"]), node("Flatten", ["means"], ["logits"])]
    path, labels = tmp_path / "net.onnx", tmp_path / "labels.txt"
    onnx.save(model(nodes, {"image": [1, 3, 8, 8]}, ["logits"]), path)
    labels.write_text("red\ngreen\nblue\n")
    chosen = ["--picture", "image=imagenet", "--answer", "classify,top=2", "--labels", labels]
    seen: list[Options] = []

    def stop(*given: Any) -> None:
        seen.extend(g for g in given if isinstance(g, Options))
        raise InputError("stopped")

    more = ["--fast-math", "off", "--activations", "int8", "--gpu-tiles", "shared", "--weights", "int8"]
    with monkeypatch.context() as patched:
        patched.setattr(tune_command, "Problem", stop)
        patched.setattr("webnn_compile.driver.build.build", stop)
        assert "stopped" in refused(path, "--target", "native", *chosen, *more)
        arguments = [path, "--out", tmp_path / "out", *chosen, *more]
        CliRunner().invoke(compile_command, [str(a) for a in arguments], catch_exceptions=False)
    tuned, built = seen
    assert tuned.answers
    assert tuned == replace(built, targets=tuned.targets, processes=tuned.processes)

    records = tmp_path / "r.jsonl"
    result = run(path, "--target", "native", "--trials", 2, "--records", records, "--processes", 0, *chosen)
    assert result.exit_code == 0, result.output
    measured = {json.loads(line)["kernel"].split(" ")[0] for line in records.read_text().splitlines()}
    assert measured - {"globalaveragepool"}


def test_a_missing_model_and_extra(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "none.onnx" in refused(tmp_path / "none.onnx", "--target", "native", "--records", tmp_path / "r")
    find = importlib.util.find_spec

    def without(name: str, *given: Any) -> Any:
        return None if name == "playwright" else find(name, *given)

    monkeypatch.setattr(importlib.util, "find_spec", without)
    said = refused(path, "--target", "wasm", "--records", tmp_path / "r")
    assert "webnn-tune needs playwright: pip install 'webnn-compile[tune]'" in said


@pytest.mark.parametrize(
    ("executable", "message"),
    [("/nonexistent", "CHROMIUM=/nonexistent: there is no such program"), ("/bin/false", "it does not start: ")],
)
def test_a_browser_that_does_not_start(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, executable: str, message: str
) -> None:
    monkeypatch.setenv("CHROMIUM", executable)
    said = refused(path, "--target", "wasm", "--records", tmp_path / "r")
    assert f"error: --device browser:chromium: {message}" in said


def test_a_browser_that_lacks_the_target(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the only device of its broker: nothing is waited for."""

    class Tab:
        def new_page(self) -> Tab:
            return self

        def goto(self, page: str) -> None:
            url, _, token = page.partition("/#")
            self.device = PythonDevice(Address(url, token), name="Firefox 140")

    @contextlib.contextmanager
    def launch(*_: object, **__: object) -> Iterator[Tab]:
        tab = Tab()
        yield tab
        tab.device.close()

    monkeypatch.setattr(browsers, "launch", launch)
    monkeypatch.setattr("playwright.sync_api.sync_playwright", contextlib.nullcontext)
    said = refused(path, "--target", "webgpu", "--device", "browser:firefox", "--records", tmp_path / "r")
    assert "--device browser:firefox: Firefox 140 has no webgpu, only wasm" in said


@pytest.mark.parametrize(("share", "said"), [(0.3, True), (0.05, False)])
def test_a_disturbed_or_exhausted_search_says_so(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float, said: bool
) -> None:
    monkeypatch.setattr(tune_command, "tune", lambda *_: Summary((), None, 1, 9, 0, share, exhausted=said))
    result = run(path, "--target", "native", "--records", tmp_path / "r", "--processes", 0)
    assert ("30% of the measurements were disturbed" in result.output) == said
    assert ("No other schedule is worth a trial." in result.output) == said


def test_what_a_device_cannot_run_is_no_lost_device(path: Path, tmp_path: Path) -> None:
    def answer(message: Message) -> tuple[dict[str, Any], bytes]:
        failure = {"kind": "device", "message": "a buffer of 9 GB is above its limit"}
        return ({"error": failure} if message.header["op"] == "load" else {}), b""

    with start_broker() as address, python_device(address, answer):
        options = "--device", "python", "--broker", address.page, "--records", tmp_path / "r", "--processes", 0
        said = refused(path, "--target", "wasm", *options)
    assert "the device cannot run the model: a buffer of 9 GB is above its limit; all measurements" in said
    assert "lost" not in said


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
