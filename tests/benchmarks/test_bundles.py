"""`python -m benchmarks bundles`: which trees are taken, and that equal and different bundles are found so."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from onnx_models import model, node, random
from webnn_compile.errors import InputError
from webnn_compile.ops.elementwise import activation

from benchmarks.bundles import Comparison, Compilation, default_models
from benchmarks.cases import find_case
from benchmarks.folders import ROOT
from benchmarks.tables import bundle_grid
from benchmarks.trees import find_tree


def tiny(folder: Path) -> Path:
    nodes = [node("LeakyRelu", ["x"], ["r"]), node("MatMul", ["r", "w"], ["y"])]
    onnx.save(model(nodes, {"x": [4, 12]}, ["y"], {"w": random((12, 8))}), folder / "tiny.onnx")
    return folder / "tiny.onnx"


def copied(folder: Path) -> Path:
    """This tree's compiler, with another slope of LeakyRelu."""
    for part in ("compiler", "runtime-js", "rpc"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    assert activation.__file__ is not None
    file = folder / Path(activation.__file__).relative_to(ROOT)
    source = file.read_text()
    assert "alpha=0.01" in source
    file.write_text(source.replace("alpha=0.01", "alpha=0.02"))
    return folder


def bundles(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", "bundles", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)


def test_a_tree_beside_itself(tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    done = bundles(ROOT, tiny(tmp_path), "--cache", "--json", out)
    assert done.returncode == 0, done.stderr
    assert "tiny" in done.stdout
    found = json.loads(out.read_text())
    assert found["facts"]["settings"]["before"] == str(ROOT)
    (compared,) = found["models"]
    assert compared["same"]
    assert {Path(n).suffix for n in compared["equal"]} == {".wasm", ".bin", ".txt"}
    assert compared["bytes_before"] == compared["bytes_after"] > 0
    for side in ("before", "after"):
        assert len(compared[side]) == 1, "the round that fills the cache does not count"
        assert all(c["seconds"] > 0 and c["peak_mb"] > 10 for c in compared[side])


def test_a_tree_that_generates_something_else(tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    other = copied(tmp_path / "other")
    done = bundles(ROOT, tiny(tmp_path), "--after", other, "--targets", "wasm", "--json", out)
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    (compared,) = json.loads(out.read_text())["models"]
    assert not compared["same"]
    # Files are named by their content.
    assert {n.partition("-")[0] for n in compared["only_after"]} == {"plain", "relaxed"}
    assert len(compared["only_before"]) == 2


def test_mistakes_are_one_line(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    for arguments, message in (
        (("no-such-revision",), r"error: 'no-such-revision' is neither a folder nor a revision of "),
        ((empty,), f"error: {str(empty)!r} is no tree of this compiler: "),
        ((ROOT, "nonsense"), "error: model 'nonsense': no such file"),
        ((ROOT, tiny(tmp_path), "--targets", "no"), f"error: tiny does not compile with {ROOT}: --targets no: choose"),
    ):
        done = bundles(*arguments)
        assert done.returncode == 2
        assert done.stderr.splitlines()[-1].startswith(message), done.stderr


def test_a_revision_is_checked_out() -> None:
    if subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, check=False).returncode:
        pytest.skip("no repository of git here")
    found = find_tree("HEAD")
    assert (found / "pyproject.toml").is_file()
    assert found != ROOT
    assert find_tree("HEAD") == found


def test_an_option_is_no_revision() -> None:
    with pytest.raises(InputError, match="neither a folder nor a revision"):
        find_tree("--all")


def test_ratios_are_medians_of_rounds() -> None:
    before = tuple(Compilation(seconds, 100) for seconds in (1, 2, 4))
    after = tuple(Compilation(seconds, 150) for seconds in (3, 2, 2))
    compared = Comparison("net", ("a.bin",), ("b.json",), (), ("c.wasm",), 1000, 1234, before, after)
    assert not compared.same
    assert bundle_grid([compared]).rows == (
        ("net", "1", "1", "0", "1", "1,000 -> 1,234", "2.0 -> 2.0", "1.00", "100.0 -> 150.0", "1.50"),
    )


def test_default_models_are_found() -> None:
    names = default_models()
    assert {"mobilenetv2", "bert"} <= set(names)
    assert all(find_case(name, {}).model.is_file() for name in names)
