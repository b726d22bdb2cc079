"""Experimental operators of early ONNX, which onnxruntime still has: Affine, Crop, ImageScaler and others."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from onnx import helper
from onnx_models import assert_close, onnxruntime_results, random
from webnn_compile.errors import InputError, UnsupportedError

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "affine": ("Affine", {"alpha": 1.5, "beta": -0.25}),
    "borders": ("Crop", {"border": [1, 2, 3, 0]}),
    "borders and a size": ("Crop", {"border": [1, 2, 0, 0], "scale": [3, 2]}),
    "picture": ("ImageScaler", {"scale": 0.5, "bias": [1.0, -2.0, 3.0]}),
    "softplus": ("ParametricSoftplus", {"alpha": 1.25, "beta": 0.75}),
    "scale": ("Scale", {"scale": 3.0}),
    "tanh": ("ScaledTanh", {"alpha": 2.0, "beta": 0.5}),
    "threshold": ("ThresholdedRelu", {"alpha": 0.5}),
    "threshold of 1": ("ThresholdedRelu", {}),
}


NORMALISATIONS: dict[str, dict[str, Any]] = {
    "by channel": {},
    "across channels": {"across_channels": 1},
    "means alone": {"normalize_variance": 0},
}


def made(op: str, opset: int, **attributes: Any) -> onnx.ModelProto:
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node(op, ["r"], ["s"], "special", **attributes),
        helper.make_node("Sigmoid", ["s"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "early",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2, 3, 6, 7])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=3)


@pytest.mark.parametrize("opset", [6, 9])
@pytest.mark.parametrize("case", CASES)
def test_results_are_onnxruntime_s(case: str, opset: int) -> None:
    op, attributes = CASES[case]
    model, feeds = made(op, opset, **attributes), {"x": random((2, 3, 6, 7))}
    assert_close(webnn_compile.compile(model).run(feeds), onnxruntime_results(model, feeds))


@pytest.mark.parametrize("opset", [6, 8])
@pytest.mark.parametrize("name", NORMALISATIONS)
def test_normalisations_are_onnxruntime_s(name: str, opset: int) -> None:
    model, feeds = made("MeanVarianceNormalization", opset, **NORMALISATIONS[name]), {"x": random((2, 3, 6, 7))}
    assert_close(webnn_compile.compile(model).run(feeds), onnxruntime_results(model, feeds))


@pytest.mark.parametrize(
    ("op", "attributes", "reason"),
    [
        ("Crop", {"border": [1, 2]}, r"border=\[1, 2\] and scale=\[\] are no four and two numbers"),
        ("Crop", {"border": [1, 2, 3, 2**63 - 1], "scale": [2**63 - 1, 1]}, "its attributes are invalid"),
        ("Affine", {"alpha": "much"}, "could not convert string to float"),
    ],
)
def test_invalid_attributes(op: str, attributes: dict[str, Any], reason: str) -> None:
    with pytest.raises(InputError, match=rf"is not a valid ONNX model: {op} \(node 'special'\): .*{reason}"):
        webnn_compile.compile(made(op, 7, **attributes))


def test_later_opsets_have_none() -> None:
    with pytest.raises(UnsupportedError, match="Affine"):
        webnn_compile.compile(made("Affine", 11, alpha=2.0))


def test_numbers_of_a_folded_constant_stay() -> None:
    """A constant takes the place of no value of the model, whatever the names are."""
    model = made("ImageScaler", 8, scale=2.0, bias=[0.5, 0.25, 0.125])
    model.graph.node[0].output[0] = model.graph.node[1].input[0] = "s.Mul"
    feeds = {"x": random((2, 3, 6, 7), 5)}
    assert_close(webnn_compile.compile(model).run(feeds), onnxruntime_results(model, feeds))
    assert np.ptp(onnxruntime_results(model, feeds)["y"]) > 0.1
