"""Several models on the command line: names, which options are whose, tables and reports."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from cli.command import run
from onnx_models import model, node, random
from test_merged_decoders import WIDTH, merged
from webnn_compile.bundle.files import is_bundle
from webnn_compile.cli.several_models import GivenModels, options_of_models
from webnn_compile.cli.watch import files_of
from webnn_compile.quantization.settings import parse_weights

PROJECT = node("MatMul", ["x", "w"], ["hidden"], "project")
ENCODER = model([PROJECT], {"x": (1, "E", 8)}, ["hidden"], {"w": random((8, WIDTH))})
DECODER = ("--dim", "S=1..5", "--dim", "P=0..30")


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    onnx.save(ENCODER, tmp_path / "Encoder-1.onnx")
    onnx.save(merged(), tmp_path / "merged.onnx")
    return tmp_path / "Encoder-1.onnx", tmp_path / "merged.onnx"


def test_options_go_to_the_models_that_have_them(files: tuple[Path, Path], tmp_path: Path) -> None:
    """A size of both, sizes of one, and one that a colon gives to a model."""
    encoder, decoder = files
    out, report = tmp_path / "out", tmp_path / "r.json"
    ended = run(
        *(encoder, f"decoder={decoder}", "--out", out, "--targets", "wasm", "--report", report),
        *("--dim", "E=1..6", "--dim", "encoder_1:E=1..7", "--dim", "decoder:S=1..5", "--dim", "P=0..30"),
    )
    assert ended.exit_code == 2
    assert "--dim gives 'E' two sizes" in ended.output
    ended = run(
        *(encoder, f"decoder={decoder}", "--out", out, "--targets", "wasm", "--report", report, "--golden", "on"),
        *("--dim", "decoder:E=1..6", "--dim", "encoder_1:E=1..7", "--dim", "decoder:S=1..5", "--dim", "P=0..30"),
    )
    assert ended.exit_code == 0, ended.output
    assert is_bundle(out)
    assert "encoder_1: Encoder-1.onnx -> " in ended.output
    assert "decoder: merged.onnx -> " in ended.output
    assert "encoder_1: import ..." in ended.output
    assert ended.output.count("Try it: webnn-serve") == 1
    sizes = {
        name: {d["name"]: d["most"] for d in json.loads((tmp_path / f"r-{name}.json").read_text())["dimensions"]}
        for name in ("encoder_1", "decoder")
    }
    assert sizes["encoder_1"] == {"E": 7}
    assert sizes["decoder"] == {"S": 5, "E": 6, "P": 30}
    page = (out / "index.html").read_text()
    assert "./golden-" in page
    assert "decoder: Keeps between runs" in page


def test_a_shape_names_a_size(files: tuple[Path, Path], tmp_path: Path) -> None:
    encoder, _ = files
    ended = run(
        *(f"a={encoder}", f"b={encoder}", "--out", tmp_path / "out", "--targets", "wasm", "--golden", "off"),
        *("--shape", "a:x=1xNx8", "--dim", "N=2", "--shape", "b:x=1x3x8"),
    )
    assert ended.exit_code == 0, ended.output
    assert "x: float32[1x2x8]" in ended.output
    assert "x: float32[1x3x8]" in ended.output


def test_a_models_own_value_stands_before_that_of_all(files: tuple[Path, Path]) -> None:
    models = {"a": files[0], "b": files[0]}
    for values in ((("--weights", "b:int4"), ("--weights", "int8")), (("--weights", "int8"), ("--weights", "b:int4"))):
        options = options_of_models(GivenModels(models, values, ()), models)
        assert [one.quantize and one.quantize.how for one in options.values()] == [
            parse_weights("int8"),
            parse_weights("int4"),
        ]


def test_one_of_them_gives_tokens(files: tuple[Path, Path], tmp_path: Path) -> None:
    """An option whose value may be left out."""
    given = (*files, "--out", tmp_path / "out", "--targets", "wasm", "--golden", "off", *DECODER, "--dim", "E=1..6")
    ended = run(*given, "--generate", "merged:")
    assert ended.exit_code == 0, ended.output
    assert ended.output.count("  generates") == 1
    types = (tmp_path / "out" / "model.d.ts").read_text()
    assert "generate(" not in types.partition("export namespace encoder_1")[2].partition("export namespace merged")[0]
    assert "generate(" in types.partition("export namespace merged")[2]
    ended = run(*given, "--force", "--generate")
    assert ended.exit_code == 2
    assert "error: encoder_1: " in ended.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--dim", "Q=1"), r"--dim Q=1: no model has the size 'Q'. They have encoder_1: E, x; merged: E, P,"),
        (("--dim", "other:E=1"), r"no model has the size 'other:E'.*--dim NAME:other:E=1.*\(encoder_1, merged\)"),
        (("--shape", "y=1"), "no model has the input 'y'"),
        (("--state", "y=z"), "no model has the input 'y'"),
        (("--dim", "encoder_1:P=3"), "encoder_1: --dim P: Encoder-1.onnx has no dimension of this name"),
        ((*DECODER, "--dim", "E=3", "--single-file"), "--single-file is for bundles of one model"),
        ((*DECODER, "--dim", "E=3", "--format", "npm"), "--format npm is for bundles of one model"),
        ((*DECODER, "--dim", "E=3", "--targets", "c"), "--targets c is for one model"),
        ((*DECODER, "--dim", "E=3", "--dump", "after:import"), "--dump is for one model"),
    ],
)
def test_refusals(files: tuple[Path, Path], tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    ended = run(*files, "--out", tmp_path / "out", *options)
    assert ended.exit_code == 2
    assert re.search(message, ended.output), ended.output
    assert not (tmp_path / "out").exists()


def test_names(files: tuple[Path, Path], tmp_path: Path) -> None:
    encoder, decoder = files
    for arguments, message in (
        ((encoder, encoder), "two models have the name 'encoder_1': give them others by NAME=FILE"),
        ((f"load={encoder}", decoder), "'load' is taken in scripts"),
        ((encoder, "wasm"), "'wasm' is one argument too many"),
    ):
        ended = run(*arguments, "--out", tmp_path / "out")
        assert ended.exit_code == 2
        assert message in " ".join(ended.output.split())


def test_verified(files: tuple[Path, Path], tmp_path: Path) -> None:
    encoder, _ = files
    ended = run(encoder, f"b={encoder}", "--out", tmp_path / "out", "--targets", "wasm", "--verify", "--dim", "E=1..3")
    assert ended.exit_code == 0, ended.output
    assert ended.output.count("verified   native: largest error") == 2


def test_inspected(files: tuple[Path, Path]) -> None:
    ended = run(*files, "--inspect")
    assert ended.exit_code == 0
    assert "Encoder-1.onnx: ONNX" in ended.output
    assert "merged.onnx: ONNX" in ended.output


def test_all_options_are_those_of_a_watched_command(monkeypatch: pytest.MonkeyPatch) -> None:
    watched: list[list[str]] = []
    monkeypatch.setattr("webnn_compile.cli.watch.watch", watched.append)
    arguments = ["a=encoder.onnx", "b=decoder.onnx", "--out", "out", "--dim", "E=1..3", "--weights", "b:int8"]
    run(*arguments, "--watch", "--list-targets")
    assert watched == [[*arguments, "--list-targets"]]


def test_watched_files(files: tuple[Path, Path], tmp_path: Path) -> None:
    np.save(tmp_path / "m.npy", np.zeros(1))
    encoder, decoder = files
    arguments = [f"a={encoder}", str(decoder), f"--fix=a:mask={tmp_path / 'm.npy'}", f"a:{tmp_path / 'm.npy'}"]
    assert set(files_of(arguments)) == {encoder, decoder, tmp_path / "m.npy"}
