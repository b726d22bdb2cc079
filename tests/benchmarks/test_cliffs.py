"""`python -m benchmarks cliffs`: which models it finds, with which shapes, and what it calls a cliff."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from onnx_models import model, node, random

from benchmarks.__main__ import main
from benchmarks.cases import find_case
from benchmarks.cliffs import Finding, Limits, cliff_grid, find_cliffs, find_models, find_shapes, findings, guess_shapes
from benchmarks.folders import ROOT
from benchmarks.run import Settings
from benchmarks.single_operators import OPERATORS
from benchmarks.summary import Key

NATIVE = ("native", "onnxruntime")


def done(*times: float) -> dict[str, Any]:
    return {"times_ms": list(times), "start_ms": 1.0, "first_ms": 1.0, "error": 0.0, "others": 0.0}


def save(file: Path, **changes: Any) -> Path:
    proto = model([node("MatMul", ["x", "w"], ["y"])], {"x": ["n", 12]}, ["y"], {"w": random((12, 8))}, **changes)
    file.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(proto, file)
    return file


def test_ratios_go_by_what_was_measured_in_turns() -> None:
    measured: dict[Key, list[dict[str, Any]]] = {
        ("net", None, "native"): [done(3, 4, 5), done(2, 6, 7)],
        ("net", None, "onnxruntime"): [done(1, 2, 3), done(1.5, 2, 2)],
        ("net", "chromium", "ours-wasm"): [done(9, 9, 9)],
        ("net", "chromium", "onnxruntime-web"): [{"failed": "no such operator"}],
    }
    native, browser = findings(measured)
    # The medians of the rounds' ratios, 2 and 3, and 2 to 1 of the least times.
    assert native == Finding("net", "native", 2, 1, 2.0)
    assert browser == Finding("net", "chromium", failed="onnxruntime-web: no such operator")


def test_a_cliff_is_beyond_both_limits() -> None:
    limits = Limits(ratio=1.3, least_ms=1)
    slow, short, fast = (Finding("a", "native", ms, 1, ratio) for ms, ratio in ((2, 1.31), (0.9, 9), (50, 1.3)))
    assert [f.is_cliff(limits) for f in (slow, short, fast)] == [True, False, False]
    rows = cliff_grid([fast, Finding("b", "all", failed="no such operator"), slow], limits).rows
    assert [r[-1] for r in rows] == ["CLIFF", "", "no such operator"]


@pytest.mark.parametrize("name", OPERATORS)
def test_shapes_that_were_cliffs_are_known(name: str) -> None:
    onnx.checker.check_model(OPERATORS[name](), full_check=True)
    assert name in find_models([])
    (given,) = find_case(name, {}).graph().inputs
    assert given.name == "x"


def test_models_of_a_folder_and_its_folders(tmp_path: Path) -> None:
    a, b = save(tmp_path / "a.onnx"), save(tmp_path / "more" / "b.onnx")
    (tmp_path / "notes.txt").write_text("no model")
    assert find_models([tmp_path, a]) == [str(a), str(b), str(a)]


def test_the_default_models_have_no_file_twice() -> None:
    names = find_models([])
    assert {"mobilenetv2", "bert", "lstm"} <= set(names)
    assert len({Path(n).name for n in names}) == len(names)


def test_open_dimensions_are_one_first_and_then_the_size(tmp_path: Path) -> None:
    proto = model([node("Identity", ["x"], ["y"])], {"x": ["batch", 3, None, "w"], "z": [2, 3]}, ["y"])
    onnx.save(proto, tmp_path / "m.onnx")
    assert guess_shapes(tmp_path / "m.onnx", 17) == {"x": (1, 3, 17, 17)}


def test_shapes_that_do_not_fit_are_those_that_the_compiler_suggests(tmp_path: Path) -> None:
    proto = model([node("Add", ["x", "z"], ["y"])], {"x": ["n", "m"], "z": ["m", 3]}, ["y"])
    onnx.save(proto, tmp_path / "m.onnx")
    assert guess_shapes(tmp_path / "m.onnx", 17) == {"x": (1, 17), "z": (1, 3)}
    shapes = find_shapes(tmp_path / "m.onnx", 17)
    assert shapes.keys() == {"x", "z"}
    np.broadcast_shapes(*shapes.values())


def test_a_model_that_fails_leaves_the_others(tmp_path: Path) -> None:
    bad = tmp_path / "bad.onnx"
    unknown = model([node("NoSuchOperator", ["x"], ["y"], domain="no.such")], {"x": [2]}, ["y"])
    unknown.opset_import.append(onnx.helper.make_opsetid("no.such", 1))
    onnx.save(unknown, bad)
    settings = Settings((), NATIVE, (), rounds=1, runs=3, warmup=1, seconds=5, kernels=False)
    broken, good = find_cliffs([str(bad), str(save(tmp_path / "good.onnx"))], settings, 5, lambda _: None)
    assert "NoSuchOperator" in broken[0].failed
    assert [(f.where, f.failed) for f in good] == [("native", "")]
    assert good[0].ratio > 0


def test_the_exit_code_says_whether_there_is_one(tmp_path: Path) -> None:
    file = save(tmp_path / "m.onnx")

    def run(limit: str) -> subprocess.CompletedProcess[str]:
        options = ["--browsers", "none", "--rounds", "1", "--runs", "3", "--least-ms", "0", "--limit", limit]
        command = [sys.executable, "-m", "benchmarks", "cliffs", file, *options]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)

    none, one = run("1e9"), run("0")
    assert (none.returncode, one.returncode) == (0, 1), none.stderr + one.stderr
    assert "CLIFF" in one.stdout
    assert "CLIFF" not in none.stdout


def test_the_exit_code_says_whether_one_was_not_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its reason, whatever marks of Rich's are in it and in the model's name."""
    found = [Finding("net[/b]", "native", 2, 1, 0.5), Finding("net:smile:", "all", failed="no such [/i] operator")]
    for measured, code in ((found[:1], 0), (found, 1)):
        monkeypatch.setattr("benchmarks.__main__.find_cliffs", lambda *_, measured=measured: [measured])
        done = CliRunner().invoke(main, ["cliffs", str(tmp_path), "--browsers", "none"])
        assert done.exit_code == code, done.output
        assert "net[/b]" in done.output
    assert "net:smile:" in done.output
    assert "no such [/i] operator" in done.output


def test_inputs_with_a_value_of_their_own_are_not_open(tmp_path: Path) -> None:
    proto = model([node("Add", ["x", "w"], ["y"])], {"x": [2], "w": ["n"]}, ["y"], {"w": np.zeros(2, np.float32)})
    onnx.save(proto, tmp_path / "m.onnx")
    assert guess_shapes(tmp_path / "m.onnx", 17) == {}
