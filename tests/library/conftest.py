"""Libraries that the tests of this folder load: a network with its own source, and a small model."""

from __future__ import annotations

import subprocess
from pathlib import Path

import onnx
import pytest
import webnn_compile
from cli.command import EXAMPLE, run
from onnx_models import model, node, random
from webnn_compile.errors import InputError

NAME = "resnet18_digits"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("native") / "lib"
    done = run(EXAMPLE, "--out", out, "--targets", "native", "--report", out.parent / "report.json")
    assert done.exit_code == 0, done.output
    printed = " ".join(done.stdout.split())
    assert "native 34 kernels, 49 calls in a run; memory beside the weights:" in printed
    assert printed.endswith(f"{out}/{NAME}_library.h says how it is called.")
    return out


@pytest.fixture(scope="module")
def c_build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its source, built by the command that `load` names."""
    out = tmp_path_factory.mktemp("c") / "lib"
    assert run(EXAMPLE, "--out", out, "--targets", "c").exit_code == 0
    with pytest.raises(InputError, match="the source is not built yet: in that folder, cc ") as raised:
        webnn_compile.load(out)
    command = str(raised.value).partition("in that folder, ")[2].split()
    subprocess.run([*command, "-Wall", "-Wextra", "-Werror", "-fopenmp"], cwd=out, check=True)
    return out


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model that has weights to be transformed, and is soon compiled."""
    folder = tmp_path_factory.mktemp("small")
    nodes = [
        node("Conv", ["image", "k"], ["c"], pads=[1, 1, 1, 1]),
        node("Relu", ["c"], ["r"]),
        node("Conv", ["r", "l"], ["d"], pads=[1, 1, 1, 1]),
        node("GlobalAveragePool", ["d"], ["p"]),
        node("Flatten", ["p"], ["f"]),
        node("Gemm", ["f", "g"], ["logits"]),
    ]
    weights = {"k": random((16, 1, 3, 3)), "l": random((16, 16, 3, 3)), "g": random((16, 10))}
    onnx.save(model(nodes, {"image": [1, 1, 32, 32]}, ["logits"], weights), folder / "small.onnx")
    return folder
