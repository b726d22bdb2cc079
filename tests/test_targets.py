"""The table of targets is the only place that lists them: what is added there compiles, runs and is named."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
import webnn_compile
from click.testing import CliRunner
from gpu.interpreted import InterpretedBackend, InterpretedDevice
from onnx_models import model, node, random
from webnn_compile.cli import main, target_table
from webnn_compile.cli.report import print_report
from webnn_compile.driver.build import build
from webnn_compile.driver.cpu_target import CpuTarget, run_native
from webnn_compile.driver.device_target import DeviceTarget
from webnn_compile.driver.options import Options
from webnn_compile.driver.targets import TARGETS, bundled_targets
from webnn_compile.errors import InputError

COMPILER = Path(webnn_compile.__file__).parent
X = random((2, 3))


def relu() -> onnx.ModelProto:
    return model([node("Relu", ["x"], ["y"])], {"x": [2, 3]}, ["y"])


def test_names_are_those_of_the_interface() -> None:
    assert (
        tuple(TARGETS)
        == webnn_compile.TARGETS
        == ("native", "c", "wasm", "wasm-relaxed", "wasm-signed", "webgpu", "webgl", "opencl", "cuda")
    )
    assert bundled_targets() == Options().targets == ("webgpu", "webgl", "wasm")
    assert all(name == target.name for name, target in TARGETS.items())


def test_a_processor_in_the_table_compiles_runs_and_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TARGETS, "abacus", CpuTarget(name="abacus", run=run_native, threads=True))
    np.testing.assert_array_equal(webnn_compile.compile(relu(), "abacus", threads=2).run({"x": X})["y"], X.clip(0))
    with pytest.raises(InputError, match=r"'loom' is not known; choose one of native, .*, cuda, abacus$"):
        webnn_compile.compile(relu(), "loom")
    with pytest.raises(InputError, match="threads=2: give 1 or more for the target native, c, abacus, 1 for the oth"):
        webnn_compile.compile(relu(), "wasm", threads=2)
    with pytest.raises(
        InputError, match=r"--targets abacus: .*, or native or c alone; programs of abacus run from Python"
    ):
        Options(targets=("abacus",)).check()


def device(name: str) -> DeviceTarget:
    """A device that interprets kernels."""
    backend = InterpretedBackend()
    backend.name = name
    return DeviceTarget(
        name=name, backend=lambda *_: backend, open_device=lambda kernels: InterpretedDevice(backend, kernels)
    )


def test_a_device_in_the_table_compiles_runs_and_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TARGETS, "loom", device("loom"))
    made = webnn_compile.compile(relu(), "loom", fast_math=False, cache=False)
    assert made.backend == "loom"
    np.testing.assert_array_equal(made.run({"x": X})["y"], X.clip(0))
    monkeypatch.setitem(TARGETS, "loom", replace(device("loom"), package="no_such_package"))
    message = r"target loom needs the package no_such_package: pip install 'webnn-compile\[loom\]'"
    with pytest.raises(InputError, match=message):
        webnn_compile.compile(relu(), "loom", fast_math=False, cache=False)


def test_a_device_in_the_table_has_its_part_in_a_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(TARGETS, "loom", replace(device("loom"), preference=9, halves=True))
    onnx.save(relu(), tmp_path / "model.onnx")
    with pytest.raises(
        InputError, match=r"--targets cloth: choose from loom, webgpu, webgl, wasm, or native or c alone$"
    ):
        Options(targets=("cloth",)).check()
    with pytest.raises(InputError, match=r"leave wasm out \(--targets loom,webgpu,webgl\)"):
        Options(host="js").check()
    options = Options(targets=("wasm", "loom"), fast_math=False, precision="f16", cache=False)
    report = build(tmp_path / "model.onnx", tmp_path / "bundle", options, lambda _: None, lambda _: None)
    assert [p.artifact.backend for p in report.parts] == ["wasm", "loom"]
    assert "export type Backend = 'loom' | 'wasm';" in (tmp_path / "bundle" / "model.d.ts").read_text()
    print_report(report, tmp_path / "bundle")
    assert "; what loom has in memory is float16, too" in " ".join(capsys.readouterr().out.split())


FACTS = {"driver/targets.py", "target.py"}
"""Where targets get their names."""


def test_no_target_is_asked_for_its_name() -> None:
    """No comparison, match, key or subscript of the compiler has a target's name."""
    asking = [
        f"{file.relative_to(COMPILER)}, line {line}: {text}"
        for file in sorted(COMPILER.rglob("*.py"))
        if str(file.relative_to(COMPILER)) not in FACTS
        for line, text in questions(file.read_text())
    ]
    assert not asking
    planted = 'if backend == "webgl":\n    pass\nx = name in ("wasm", "native")\ny = {"webgpu": 1}[\'webgpu\']\n'
    assert [line for line, _ in questions(planted)] == [1, 3, 3, 4, 4]


def questions(source: str) -> list[tuple[int, str]]:
    """The lines of expressions and patterns that depend on a target's name."""
    found = []
    for n in ast.walk(ast.parse(source)):
        match n:
            case ast.Compare():
                places = [n.left, *n.comparators]
            case ast.MatchValue():
                places = [n.value]
            case ast.Dict():
                places = [k for k in n.keys if k is not None]
            case ast.Subscript(slice=ast.Constant()):
                places = [n.slice]
            case _:
                continue
        constants = [e for place in places for e in ast.walk(place) if isinstance(e, ast.Constant)]
        found += [(n.lineno, ast.unparse(n)) for e in constants if e.value in TARGETS]
    return sorted(found)


def test_targets_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> str:
        raise InputError("target opencl: there is [no] device; buy one")

    rows = {**TARGETS, "opencl": replace(TARGETS["opencl"], probe=none)}
    monkeypatch.setattr(target_table, "TARGETS", rows)
    done = CliRunner().invoke(main, ["--list-targets"])
    assert done.exit_code == 0
    lines = {line.split()[0]: line for line in done.stdout.splitlines() if line[:1].isalpha()}
    assert [name for name in lines if name in TARGETS] == list(TARGETS)
    assert "bundle, Python, tune" in lines["webgpu"]
    assert "bundle" not in lines["opencl"]
    assert "no: there is [no] device; buy one" in done.stdout
    assert done.stdout.splitlines()[0].rstrip().endswith("run from Python here")
    assert "bundles for webgpu, webgl, wasm need no extra" in done.stdout
    assert all(row.about for row in TARGETS.values())
