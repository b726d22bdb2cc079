"""--state and --given, and what the table, the report and --inspect say of states."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest
from cli.command import run
from decoders.tiny import tiny_decoder
from onnx_models import model, node

SIZES = ("--dim", "batch=1", "--dim", "past=0..59", "--dim", "seq=1..5", "--targets", "wasm")


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("decoder") / "tiny.onnx"
    onnx.save(tiny_decoder(), path)
    return path


def test_usual_caches_are_states(decoder: Path, tmp_path: Path) -> None:
    result = run(decoder, "--out", tmp_path / "out", *SIZES, "--report", tmp_path / "report.json")
    assert result.exit_code == 0, result.output
    said = words(result.output)
    assert "states 4 (past_key_values.*=present.*): 16.4 kB, past 0..59; made by the model: " in said
    assert "input input_ids: int64[1xseq] output logits" in said
    assert "sizes seq: 1..5" in said
    assert "16.4 kB for the states of a session, a stack" in said
    states = json.loads((tmp_path / "report.json").read_text())["states"]
    assert states["pairs"]["past_key_values.1.value"] == "present.1.value"
    assert (len(states["pairs"]), states["bytes"], states["lengths"]) == (4, 4 * 2 * 64 * 8 * 4, {"past": 59})
    assert sorted(states["made"]) == ["attention_mask", "position_ids"]


def test_what_is_given_and_what_is_no_state(decoder: Path, tmp_path: Path) -> None:
    result = run(decoder, "--out", tmp_path / "given", *SIZES, "--given", "attention_mask")
    assert "attention_mask: int64[1xpast + seq]" in result.output
    assert "made by the model: position_ids" in words(result.output)
    result = run(decoder, "--out", tmp_path / "none", *SIZES, "--state", "none")
    assert result.exit_code == 0, result.output
    assert "states " not in result.output
    assert "past_key_values.0.key: float32[1x2xpastx8]" in words(result.output)


def test_the_newest_rows_of_states(decoder: Path, tmp_path: Path) -> None:
    result = run(decoder, "--out", tmp_path / "out", *SIZES, "--state-window", "40", "--report", tmp_path / "r.json")
    assert result.exit_code == 0, result.output
    assert "past 0..59, of which the newest stay; made by the model" in words(result.output)
    states = json.loads((tmp_path / "r.json").read_text())["states"]
    assert (states["lengths"], states["window"]) == ({"past": 59}, 40)
    assert sorted(states["made"]) == ["attention_mask", "position_ids"]
    result = run(decoder, "--out", tmp_path / "no", *SIZES, "--state-window", "5")
    assert result.exit_code == 2
    assert "it has to be more than the 5 rows that a run may add" in words(result.output)


def test_pairs_of_other_names(tmp_path: Path) -> None:
    nodes = [node("Add", ["x", "h"], ["s"]), node("Tanh", ["s"], ["h2"]), node("Neg", ["h"], ["y"])]
    onnx.save(model(nodes, {"x": [2], "h": [2]}, ["y", "h2"]), tmp_path / "m.onnx")
    result = run(tmp_path / "m.onnx", "--out", tmp_path / "out", "--targets", "wasm", "--state", "h=h2")
    assert result.exit_code == 0, result.output
    assert "states 1 (h=h2): 8 bytes" in words(result.output)
    for wrong in (["--state", "h"], ["--state", "none", "--state", "h=h2"]):
        result = run(tmp_path / "m.onnx", "--out", tmp_path / "no", *wrong)
        assert result.exit_code == 2
        assert "give INPUT=OUTPUT" in words(result.output)
    result = run(tmp_path / "m.onnx", "--out", tmp_path / "no", "--state", "k=h2")
    assert result.exit_code == 2
    assert "no such input and output" in words(result.output)
    result = run(tmp_path / "m.onnx", "--out", tmp_path / "no", "--given", "k")
    assert "given 'k': no such input" in words(result.output)


def test_inspect_says_it_beforehand(decoder: Path) -> None:
    result = run(decoder, "--inspect")
    assert "States past_key_values.*=present.*: kept between runs; --state none leaves them" in words(result.output)


def test_a_page_memory_has_the_states_in_it(decoder: Path, tmp_path: Path) -> None:
    sizes = ("--dim", "batch=1", "--dim", "seq=1..5", "--targets", "wasm")
    peaks = []
    for most in (59, 40_000):
        options = (*sizes, "--dim", f"past=0..{most}", "--report", tmp_path / "report.json")
        result = run(decoder, "--out", tmp_path / f"out{most}", *options)
        assert result.exit_code == 0, result.output
        peaks.append(json.loads((tmp_path / "report.json").read_text())["page_memory"]["wasm"])
    assert peaks[1] - peaks[0] > 3 * 2 * 39_000 * 8 * 4
