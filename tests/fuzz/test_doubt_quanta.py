"""Doubtful quanta of the reference: halves, and what follows from them; no others."""

from __future__ import annotations

import numpy as np
import pytest
from fuzz.case import Array
from fuzz.compare import disagreement
from fuzz.doubt_quanta import DOUBTS_OF_QUANTA, doubt_quanta, quantises
from onnx import TensorProto, helper
from onnx_models import model, node, onnxruntime_results

WEIGHTS: dict[str, Array] = {
    "scale": np.asarray(0.25, np.float32),
    "zero": np.asarray(3, np.uint8),
    "k": np.asarray([[2.0], [1.0]], np.float32),
}
PROTO = model(
    [
        node("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
        node("DequantizeLinear", ["q", "scale", "zero"], ["d"]),
        node("MatMul", ["d", "k"], ["y"]),
    ],
    {"x": [3, 2]},
    ["q", "y"],
    WEIGHTS,
)
X = np.asarray([[0.625, 1.0], [0.66, 1.0], [20.0, -9.0]], np.float32)
"""The first is 2.5 steps: a half."""


@pytest.mark.parametrize(
    ("at", "agrees"),
    [
        ((0, 0), True),
        ((1, 1), False),
        ((1, 0), False),
        ((2, 0), False),
        ((2, 1), False),
    ],
    ids=["half", "whole", "less than a half", "large", "saturated"],
)
def test_quanta_may_differ_where_they_are_halves(at: tuple[int, int], agrees: bool) -> None:
    want = onnxruntime_results(PROTO, {"x": X})
    assert want["q"].tolist() == [[5, 7], [6, 7], [83, 0]]
    q = want["q"].copy()
    q[at] += 1
    floats = (q.astype(np.float32) - 3) * WEIGHTS["scale"] @ WEIGHTS["k"]
    reference = doubt_quanta(PROTO, {"x": X})
    assert (disagreement({"q": q, "y": floats}, want, reference, doubts=DOUBTS_OF_QUANTA) == "") == agrees
    assert (disagreement({**want, "y": floats}, want, reference, doubts=DOUBTS_OF_QUANTA) == "") == agrees


def test_products_of_integers_are_in_no_doubt() -> None:
    weights = {"w": np.ones((2, 1), np.uint8), "zero": np.asarray(1, np.uint8)}
    exact = model(
        [node("MatMulInteger", ["x", "w", "zero"], ["y"])], {"x": [1, 2]}, ["y"], weights, dtype=TensorProto.UINT8
    )
    assert not quantises(exact)
    assert quantises(PROTO)


def test_scales_of_operators_on_quanta_are_in_doubt() -> None:
    weights = {"one": np.asarray(1, np.float32), "four": np.asarray(4, np.float32), "zero": np.asarray(0, np.uint8)}
    inputs = ["x", "one", "zero", "x", "one", "zero", "four", "zero"]
    nodes = [node("QLinearAdd", inputs, ["y"], domain="com.microsoft")]
    imports = [helper.make_opsetid("com.microsoft", 1)]
    proto = model(nodes, {"x": [2]}, ["y"], weights, dtype=TensorProto.UINT8, imports=imports)
    feeds = {"x": np.asarray([5, 6], np.uint8)}  # sums of 2.5 and 3 steps
    want, reference = onnxruntime_results(proto, feeds), doubt_quanta(proto, feeds)
    for other, agrees in (([2, 3], True), ([3, 3], True), ([2, 4], False)):
        got = {"y": np.asarray(other, np.uint8)}
        assert (disagreement(got, want, reference, doubts=DOUBTS_OF_QUANTA) == "") == agrees
