"""`--canaries` of the command line and of Python: what is in the bundle, and what the report says of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import onnx
import pytest
from cli.command import SHAPE, network, run
from device_json import read_program
from onnx_models import model, node
from webnn_compile.compile_model import build_bundle

GPUS = ("--targets", "webgpu,webgl")


def programs(folder: Path) -> list[Any]:
    found = [read_program(p.read_text()) for p in sorted(folder.glob("web*.txt"))]
    assert found
    return found


def checked(program: Any) -> int:
    """Kernels that have a canary."""
    return sum("checksum" in kernel for kernel in program["kernels"])


def test_bundles_have_them(tmp_path: Path) -> None:
    onnx.save(network(), tmp_path / "m.onnx")
    report = tmp_path / "report.json"
    result = run(tmp_path / "m.onnx", "--out", tmp_path / "out", *SHAPE, *GPUS, "--canaries", "on", "--report", report)
    assert result.exit_code == 0, result.output
    found = programs(tmp_path / "out")
    assert len(found) == 2
    counts = [checked(p) for p in found]
    assert counts == [len(p["kernels"]) for p in found]
    assert f"{counts[0]} kernels, {counts[0]} of them with a canary, " in result.output
    data = json.loads(report.read_text())["targets"].values()
    assert sorted(d["canaries"] for d in data) == sorted(counts)
    assert [d["without_canary"] for d in data] == [[], []]


def test_those_without_one_are_reported(tmp_path: Path) -> None:
    """In the table, and with the reason in both kinds of report: a kernel that is too large, beside one that is not."""
    nodes = [node("Relu", ["x"], ["large"]), node("ReduceMax", ["small"], ["y"], keepdims=0)]
    shapes = {"x": (1, 1 << 24), "small": (3, 5)}
    onnx.save(model(nodes, shapes, ["large", "y"]), tmp_path / "m.onnx")
    reason = "too large: 33,554,432 elements, at most 16,777,216"
    for suffix in ("json", "html"):
        report = tmp_path / f"report.{suffix}"
        options = ("--targets=webgpu", "--golden=off", "--canaries=on", "--report", report)
        result = run(tmp_path / "m.onnx", "--out", tmp_path / suffix, *options)
        assert result.exit_code == 0, result.output
        assert "2 kernels, 1 of them with a canary and 1 without, " in result.output
        text = report.read_text()
        if suffix == "html":
            assert text.count("<dt>Canary</dt><dd>yes</dd>") == 1
            assert text.count(f"<dt>Canary</dt><dd>none: {reason}</dd>") == 1
            assert text.count("not checked at load: no canary") == 1
        else:
            device = json.loads(text)["targets"]["webgpu"]
            assert device["canaries"] == 1
            assert device["without_canary"] == [{"kernel": "relu", "reason": reason}]


@pytest.mark.parametrize("given", [("--canaries", "off"), ()], ids=["by the option", "by the environment"])
def test_bundles_without(tmp_path: Path, given: tuple[str, ...]) -> None:
    onnx.save(network(), tmp_path / "m.onnx")
    env = {"WEBNN_COMPILE_CANARIES": "on" if given else "off"}
    report = tmp_path / "report.json"
    result = run(tmp_path / "m.onnx", "--out", tmp_path / "out", *SHAPE, *GPUS, *given, "--report", report, env=env)
    assert result.exit_code == 0, result.output
    found = programs(tmp_path / "out")
    assert not any(map(checked, found))
    kernels = len(found[0]["kernels"])
    assert f"{kernels} kernels, 0 of them with a canary and {kernels} without, " in result.output
    for device in json.loads(report.read_text())["targets"].values():
        assert device["canaries"] == 0
        assert {k["reason"] for k in device["without_canary"]} == {"--canaries off"}


def test_in_python(tmp_path: Path) -> None:
    onnx.save(network(), tmp_path / "m.onnx")
    for canaries in (True, False):
        out = tmp_path / str(canaries)
        build_bundle(tmp_path / "m.onnx", "webgpu", {"x": (1, 3, 8, 8)}, out=out, golden=False, canaries=canaries)
        (program,) = programs(out)
        assert (checked(program) > 0) == canaries


def test_one_who_cannot_compute_them_builds_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webnn_compile.driver.build_device.has_llvm", lambda: False)
    onnx.save(network(), tmp_path / "m.onnx")
    report = tmp_path / "report.json"
    options = (*SHAPE, *GPUS, "--canaries", "on", "--report", report)
    assert run(tmp_path / "m.onnx", "--out", tmp_path / "o", *options).exit_code == 0
    assert not any(map(checked, programs(tmp_path / "o")))
    for device in json.loads(report.read_text())["targets"].values():
        assert {k["reason"] for k in device["without_canary"]} == {"the build has no LLVM to compute its result"}


def test_what_launches_are_compared_with(tmp_path: Path) -> None:
    """One file for each backend, and what compares: in bundles with `--check-kernels on` alone."""
    onnx.save(network(), tmp_path / "m.onnx")
    build = (tmp_path / "m.onnx", *SHAPE, *GPUS, "--golden=off", "--canaries=off")
    for given in ("on", "off"):
        result = run(*build, "--out", tmp_path / given, f"--check-kernels={given}")
        assert result.exit_code == 0, result.output
    (on, off) = ({p.name.partition("-")[0] for p in (tmp_path / given).iterdir()} for given in ("on", "off"))
    assert on - off >= {"references", "check_launches"}
    assert off <= on
    for given, has in (("on", True), ("off", False)):
        assert ("check(inputs: Inputs" in (tmp_path / given / "model.d.ts").read_text()) == has
        (page,) = (tmp_path / given).glob("page-*.js")
        assert ("Check kernels" in page.read_text()) == has
        assert ("fetched by model.check" in (tmp_path / given / "index.html").read_text()) == has
