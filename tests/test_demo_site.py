"""The builder of the demo site: mistakes, each with its message, before anything is compiled."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import onnx
import pytest
from click import Command
from click.testing import CliRunner
from documentation import ROOT
from onnx_models import model, node


@pytest.fixture(scope="module")
def build() -> Command:
    spec = spec_from_file_location("build_demo_site", ROOT / "demo-site" / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look for it there
    spec.loader.exec_module(module)
    command: Command = module.main
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
