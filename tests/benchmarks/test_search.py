"""Benchmarks of the tuner's search, on this machine's processor."""

from __future__ import annotations

import re
from pathlib import Path

import onnx
import pytest
from click.testing import CliRunner
from onnx_models import model, node, random

from benchmarks.__main__ import main


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    nodes = [
        node("MatMul", ["x", "w"], ["m"], "dense"),
        node("Transpose", ["m"], ["t"], "transpose", perm=[1, 0]),
        node("ReduceSum", ["t", "axes"], ["y"], "sum", keepdims=0),
    ]
    made = tmp_path_factory.mktemp("model") / "net.onnx"
    weights = {"w": random((96, 16)), "axes": random((1,)).astype("int64") * 0}
    onnx.save(model(nodes, {"x": [24, 96]}, ["y"], weights), made)
    return made


def run(*arguments: object) -> list[list[str]]:
    """The rows of the table that is printed."""
    result = CliRunner().invoke(main, [str(a) for a in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return [re.split(r"\s*│\s*", line.strip("│ ")) for line in result.output.splitlines() if line.startswith("│")]


def test_a_search_from_the_worst_options(path: Path) -> None:
    rows = run("search", path, "--target", "native", "--kernels", 2, "--trials", 6)
    shares = [int(share.rstrip("%")) for _, share, *_ in rows]
    assert 100 >= shares[0] >= shares[1] > 0
    trials = {kernel: int(trials) for kernel, _, trials, *_ in rows}
    assert trials.keys() == {"matmul 24x16", "transpose_reducesum 24"}
    assert trials["matmul 24x16"] == 6
    # The sum has two schedules, or one where a vector has 16 elements.
    assert trials["transpose_reducesum 24"] in (1, 2)
    for _, _, _, failed, middle, best in rows:
        assert failed == "0"
        assert 0 < float(best) <= float(middle)


def test_a_search_beside_an_exhaustive_one(path: Path) -> None:
    """The search is over kernels whose spaces are small, but larger than the trials."""
    rows = run("search", path, "--target", "native", "--kernels", 1, "--trials", 3, "--exhaustive", 200)
    ((_, schedules, trials, of_all, of_trials, ratio),) = rows
    assert 3 == int(trials) < int(schedules) <= 200
    assert float(ratio) == pytest.approx(float(of_trials) / float(of_all), abs=0.01)
    assert float(ratio) >= 0.999
