"""Outputs of a device are held against the model: names, dtypes and the shapes of the run."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx_models import model, node
from webnn_compile import build_bundle
from webnn_compile.errors import InputError

X = np.zeros((2, 3), np.float32)
GOOD = {"y": np.zeros((2, 6), np.float32), "where": np.zeros((2, 4), np.int64)}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """y: n x 2m of the sizes of x; where: 2 x as many as the data decides, at most n * m."""
    nodes = [node("Concat", ["x", "x"], ["y"], axis=1), node("NonZero", ["x"], ["where"])]
    path = tmp_path_factory.mktemp("model") / "m.onnx"
    onnx.save(model(nodes, {"x": ["n", "m"]}, ["y", "where"]), path)
    return build_bundle(path, targets="wasm", dims={"n": (1, 4), "m": (1, 5)})


def test_those_of_a_run(made: Any) -> None:
    made.check_outputs({"x": X}, GOOD)
    made.check_outputs({"x": X}, {**GOOD, "where": np.zeros((2, 0), np.int64)})


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"y": np.zeros((2, 5), np.float32)}, r"output 'y' as float32\[2, 5\], where the model has float32\[2, 6\]"),
        ({"y": np.zeros((4, 10), np.float32)}, r"output 'y' as float32\[4, 10\], .* float32\[2, 6\]"),
        ({"y": np.zeros((2, 6), np.float64)}, r"output 'y' as float64\[2, 6\]"),
        ({"y": np.zeros(12, np.float32)}, r"output 'y' as float32\[12\]"),
        ({"where": np.zeros((2, 21), np.int64)}, r"output 'where' as int64\[2, 21\]"),
        ({"where": np.zeros((3, 4), np.int64)}, r"output 'where' as int64\[3, 4\]"),
        ({"z": X}, r"outputs \['where', 'y', 'z'\], where the model has \['where', 'y'\]"),
    ],
)
def test_others(made: Any, wrong: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        made.check_outputs({"x": X}, {**GOOD, **wrong})


def test_one_that_is_missing(made: Any) -> None:
    with pytest.raises(ValueError, match=r"outputs \['y'\], where the model has \['where', 'y'\]"):
        made.check_outputs({"x": X}, {"y": GOOD["y"]})


def test_inputs_that_the_model_does_not_take(made: Any) -> None:
    with pytest.raises(InputError, match="makes n 5"):
        made.check_outputs({"x": np.zeros((5, 3), np.float32)}, GOOD)
