"""The builder of the demo site: mistakes, each with its message, before anything is compiled; and what it tells of the
example's searches."""

from __future__ import annotations

import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import onnx
import pytest
from click import Command
from click.testing import CliRunner
from documentation import ROOT
from onnx_models import model, node
from webnn_compile.errors import InputError
from webnn_compile.records.record_file import read_records

DIGITS = ROOT / "examples" / "digits"
READER, SEARCH = DIGITS / "resnet18_digits.onnx", DIGITS / "search.jsonl"


def script(name: str) -> ModuleType:
    """A module of the folder, under its own name: others import it, and its dataclasses look for it there."""
    if name not in sys.modules:
        spec = spec_from_file_location(name, ROOT / "demo-site" / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


@pytest.fixture(scope="module")
def build() -> Command:
    script("tell_search")
    command: Command = script("build").main
    return command


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--model classify", "give PURPOSE=VALUE with a purpose of classify, faces, enlarge"),
        ("--model sing=x.onnx", "give PURPOSE=VALUE with a purpose of classify, faces, enlarge"),
        ("--model faces=a.onnx --model faces=b.onnx", "faces is given twice"),
        ("--model classify=absent.onnx", "--model classify=absent.onnx: there is no such file"),
        ("--model classify=labels.txt", "--model classify=labels.txt is no ONNX file"),
        ("--model classify=vector.onnx", "this page needs a model with one input of 4 dimensions, not x"),
        ("--model enlarge=two.onnx", "its input has to be [1, 1 or 3 channels, rows, columns], not [1, 2, 8, 8]"),
        ("--picture faces=bytes", "--picture faces=...: there is no model for it"),
        ("--model enlarge=two.onnx --picture enlarge=unit", "the page makes the input of this model itself"),
        ("--labels labels.txt", "--labels names the classes of --model classify=FILE.onnx"),
        ("--compile-page .", "webnn-compile-page has not written this folder"),
        ("--samples notes", "--samples notes: there is no picture of .jpg, .jpeg, .png, .webp in it"),
        ("--out notes", "is not empty and holds no demo site"),
    ],
)
def test_mistakes(build: Command, options: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("labels.txt").write_text("red\n")
    Path("notes").mkdir()
    Path("notes/mine.txt").write_text("mine")
    onnx.save(model([node("Relu", ["x"], ["y"])], {"x": [4]}, ["y"]), "vector.onnx")
    onnx.save(model([node("Relu", ["x"], ["y"])], {"x": [1, 2, 8, 8]}, ["y"]), "two.onnx")
    done = CliRunner().invoke(build, ["--out", "site", *options.split()])
    assert done.exit_code == 2, done.output
    assert message in done.output
    assert not Path("site").exists()


def test_a_search_is_told_by_its_records() -> None:
    module = script("tell_search")
    ((told, files),) = module.tell_searches(READER, SEARCH, ["wasm"])
    trials = [r for r in read_records([SEARCH]).records if r.target == "wasm"]
    assert told["trials"] == [r.ratio for r in trials]
    rules, best, *others = told["candidates"]
    assert (rules["name"], rules["ratio"]) == ("rules", 1.0)
    assert best["ratio"] == min(ratio for ratio in told["trials"] if ratio is not None)
    assert len(others) == 3
    choices = next(r.choices for r in trials if r.ratio == best["ratio"])
    shown = {name: chosen for name, (chosen, _) in best["decisions"].items()}
    assert {name: shown[name] for name in choices if name in shown} == {
        name: str(option) for name, option in choices.items() if name in shown
    }
    assert rules["loops"] != best["loops"]
    assert "define internal void" in best["code"]
    assert {"model.js", "index.html"} < {file.name for file in files}


def test_records_of_other_kernels(tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text(re.sub(r"kernel-[0-9a-f]+", "kernel-0", SEARCH.read_text()))
    with pytest.raises(InputError, match="its trials on wasm are of no kernel of resnet18_digits"):
        list(script("tell_search").tell_searches(READER, other, ["wasm"]))
