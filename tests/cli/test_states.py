"""Models with states on the command line: verified over runs, dumped, and in the file of golden results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from cli.command import run
from drivers import need_driver
from onnx_models import model, node, random
from small_decoder import small_decoder
from webnn_compile.driver.build import build
from webnn_compile.driver.options import Options
from webnn_compile.driver.verify import Reference
from webnn_compile.frontends.model_inputs import model_inputs
from webnn_compile.generation.decoder import GenerateOptions

SIZES = ("--state", "past_0=present_0", "--dim", "S=1..3", "--dim", "P=0..40")


def cached() -> onnx.ModelProto:
    """Rows behind others, wide enough that weights and products are halves where they may be."""
    nodes = [
        node("MatMul", ["x", "w"], ["n"], "new"),
        node("Concat", ["past_0", "n"], ["present_0"], "append", axis=1),
        node("ReduceMean", ["present_0"], ["m"], "mean", axes=[1]),
        node("MatMul", ["m", "v"], ["y"], "out"),
    ]
    weights = {"w": random((64, 64)) / 8, "v": random((64, 64), 1) / 8}
    return model(nodes, {"x": (1, "S", 64), "past_0": (1, "P", 64)}, ["y", "present_0"], weights)


def verified(folder: Path, *options: str) -> str:
    onnx.save(cached(), folder / "m.onnx")
    ended = run(folder / "m.onnx", "--out", folder / "out", "--verify", *SIZES, *options)
    assert ended.exit_code == 0, ended.output
    return str(ended.output)


def test_verified_over_runs(tmp_path: Path) -> None:
    text = verified(tmp_path, "--targets", "wasm")
    for name in ("native", "wasm-relaxed", "wasm"):
        assert f"verified   {name}: largest error" in text


def test_verified_with_halves_on_a_device(tmp_path: Path) -> None:
    """The device computes all runs, and what it leaves is compared, too."""
    need_driver("webgpu")
    assert "verified   webgpu: largest error" in verified(tmp_path, "--targets", "webgpu", "--precision", "f16")


def test_an_error_that_a_later_run_shows_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = Reference._results

    def forgets(self: Reference, made: Any, one: Any) -> dict[str, np.ndarray]:
        found = results(self, made, one)
        if one.states is None:
            found["present_0"][:, 0] += 1
        return found

    monkeypatch.setattr(Reference, "_results", forgets)
    onnx.save(cached(), tmp_path / "m.onnx")
    ended = run(tmp_path / "m.onnx", "--out", tmp_path / "out", "--verify", "--targets", "wasm", *SIZES)
    assert ended.exit_code == 70
    assert "output 'present_0' errs by" in ended.output


def test_a_dump_says_what_is_kept(tmp_path: Path) -> None:
    onnx.save(cached(), tmp_path / "m.onnx")
    ended = run(tmp_path / "m.onnx", "--out", tmp_path / "o", "--targets", "wasm", *SIZES, "--dump", "after:import")
    assert ended.exit_code == 0, ended.output
    assert "state past_0 is present_0 of the run before" in ended.output


def test_golden_results_are_those_of_a_later_run(tmp_path: Path) -> None:
    """From the start on, of as many rows each as fit."""
    verified(tmp_path, "--targets", "wasm", "--golden", "on")
    (file,) = (tmp_path / "out").glob("golden-*.txt")
    found = json.loads(file.read_text())
    assert found["runs"] == 2
    assert found["sizes"]["P"] == 0
    assert set(found["outputs"]) == {"y"}


def test_logits_are_verified_before_tokens_are_made_of_them(tmp_path: Path) -> None:
    onnx.save(small_decoder(), tmp_path / "m.onnx")
    inputs = model_inputs(None, {"sequence_length": (1, 4)})
    options = Options(inputs, targets=("wasm",), generate=GenerateOptions(), verify=True, processes=1)
    report = build(tmp_path / "m.onnx", tmp_path / "out", options, lambda _: None, lambda _: None)
    assert [c.ok for c in report.comparisons] == [True] * 3
    assert "token" in [spec.name for spec in report.outputs]
