"""Models with states in fewer bits: states are inputs and outputs until the model is built."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from onnx_models import model, node, onnxruntime_results, random
from webnn_compile.errors import InputError
from webnn_compile.frontends.model_inputs import model_inputs
from webnn_compile.quantization.quantize_model import inputs_left

DIMS = {"S": (1, 3), "P": (0, 30)}


def decoder() -> onnx.ModelProto:
    """Products with cached rows, of which the last one is read, and a running mean."""
    nodes = [
        node("MatMul", ["x", "k"], ["n"], "keys"),
        node("Concat", ["past_0", "n"], ["present_0"], "append", axis=1),
        node("ReduceMean", ["present_0"], ["m"], "mean", axes=[1]),
        node("MatMul", ["m", "o"], ["p"], "out"),
        node("Add", ["p", "h"], ["y"], "add"),
        node("Tanh", ["y"], ["h2"], "tanh"),
    ]
    inputs = {"x": (1, "S", 32), "past_0": (1, "P", 32), "h": (1, 1, 32)}
    weights = {"k": random((32, 32)) / 6, "o": random((32, 32), 1) / 6}
    return model(nodes, inputs, ["y", "present_0", "h2"], weights)


def samples() -> list[dict[str, np.ndarray]]:
    """Runs of a sequence, with what the run before has left."""
    made, kept = [], {"past_0": np.zeros((1, 0, 32), np.float32), "h": np.zeros((1, 1, 32), np.float32)}
    for seed in range(8):
        made.append({"x": random((1, 1 + seed % 3, 32), seed), **kept})
        left = onnxruntime_results(decoder(), made[-1])
        kept = {"past_0": left["present_0"], "h": left["h2"]}
    return made


@pytest.mark.parametrize(
    ("quantized", "most"),
    [
        (lambda: webnn_compile.quantize(decoder(), weights="int8", dims=DIMS), 0.02),
        (lambda: webnn_compile.quantize(decoder(), samples(), dims=DIMS), 0.1),
    ],
    ids=["weights", "static"],
)
def test_runs_of_a_quantised_model(quantized: Callable[[], onnx.ModelProto], most: float) -> None:
    states = ["past_0=present_0", "h=h2"]
    few: Any = webnn_compile.compile(quantized(), dims=DIMS, states=states)
    assert [s.name for s in few.program.states] == ["past_0", "h"]
    whole: Any = webnn_compile.compile(decoder(), dims=DIMS, states=states)
    for sample in samples():
        want, got = (m.run({"x": sample["x"]})["y"] for m in (whole, few))
        assert 0 < np.abs(want - got).max() < most * np.abs(want).max()
    assert few.position == whole.position == 15


def test_samples_hold_the_states() -> None:
    with pytest.raises(InputError, match="sample 0 has no array for input 'past_0'; it has x"):
        webnn_compile.quantize(decoder(), [{"x": random((1, 2, 32))}], dims=DIMS)


def test_pairs_are_those_of_the_build() -> None:
    inputs = model_inputs(None, DIMS, states=["h=h2"], given=["mask"])
    left = inputs_left(decoder(), inputs)
    assert (left.states, left.given) == (inputs.states, inputs.given) == (("h=h2",), ("mask",))
