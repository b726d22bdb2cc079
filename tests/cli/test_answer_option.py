"""--answer and --labels on the command line, with --verify and packages."""

from __future__ import annotations

import json
import re
from pathlib import Path

import onnx
import pytest
from cli.command import refused, run
from onnx_models import model, node, random


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A classifier of [1, 6] with labels."""
    monkeypatch.chdir(tmp_path)
    onnx.save(model([node("MatMul", ["x", "w"], ["y"])], {"x": [1, 9]}, ["y"], {"w": random((9, 6))}), "net.onnx")
    Path("labels.txt").write_text("a\nb\nc\nd\ne\nf\n")
    return tmp_path


ANSWER = ("--answer", "classify,top=2", "--labels", "labels.txt")


def test_bundle() -> None:
    """The table says what was found; --verify compares outputs; labels are a file with its hash."""
    done = run("net.onnx", "--out", "out", *ANSWER, "--verify", "--targets", "wasm", "--format", "npm")
    assert done.exit_code == 0, done.output
    text = " ".join(done.output.split())
    assert "answer y: 2 of 6 classes, by the Softmax of y" in text
    assert " output " not in text
    assert re.search(r"operators (\d+) as imported, those of pictures, sounds and answers among them \(.*\); ", text)
    assert re.search(r"verified native: largest error \S+, of y;", text)
    (labels,) = Path("out").glob("labels-*")
    assert json.loads(labels.read_text()) == list("abcdef")
    assert labels.name in Path("out/model.js").read_text()
    assert labels.name in json.loads(Path("out/package.json").read_text())["files"]
    assert "outputs.y; // [{ label, score, index }, ...], the likeliest first" in Path("out/README.md").read_text()


def test_an_input_that_a_picture_fills_is_called_so() -> None:
    """Not by the pixels that the runtime makes of it, nor by the most of them, which is no size of the model."""
    onnx.save(model([node("Relu", ["x"], ["y"])], {"x": [1, 3, 8, 8]}, ["y"]), "net.onnx")
    done = run("net.onnx", "--out", "out", "--picture", "x=imagenet", "--targets", "wasm")
    text = " ".join(done.output.split())
    picture = "a picture of any size, resized and cropped to 8 x 8 pixels (width x height)"
    assert f"input x: {picture} output y: float32[1x3x8x8] operators" in text
    assert "products:" not in text


def test_sizes_of_the_model_are_shown_beside_pictures() -> None:
    nodes = [node("ReduceMean", ["x"], ["m"], keepdims=0), node("Add", ["rows", "m"], ["y"])]
    onnx.save(model(nodes, {"x": [1, 3, 8, 16], "rows": ["n"]}, ["y"]), "net.onnx")
    done = run("net.onnx", "--out", "out", "--picture", "x=unit", "--dim", "n=1..9", "--targets", "wasm")
    text = " ".join(done.output.split())
    assert "x: a picture of any size, resized to 16 x 8 pixels (width x height), rows: float32[n]" in text
    assert " sizes n: 1..9 operators " in text


def test_a_bundle_without_answers_has_no_line_of_them() -> None:
    assert run("net.onnx", "--out", "out", "--targets", "wasm").exit_code == 0
    scripts = "".join(f.read_text() for f in Path("out").glob("*.js"))
    assert "classify" not in scripts
    assert "meter" not in scripts


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--answer", "guess"), "guess: it names no kind; choose one of classify, detect, mask"),
        (("--answer", "mask"), "--answer mask: it needs one input of pixels"),
        (("--labels", "labels.txt"), "--labels labels.txt: labels are of answers: say which, as in --answer classify"),
        (("--answer", "classify", "--labels", "none.txt"), "--labels none.txt: it cannot be read"),
        ((*ANSWER, "--targets", "c"), "--answer is for bundles: leave it out with --targets c"),
    ],
)
def test_mistakes(options: tuple[str, ...], message: str) -> None:
    refused(run("net.onnx", "--out", "out", *options), message)
