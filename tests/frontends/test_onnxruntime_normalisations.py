"""Operators that onnxruntime has in the default domain, whatever the opset."""

from __future__ import annotations

import onnx
import pytest
import webnn_compile
from onnx_models import assert_close, onnxruntime_results, random


@pytest.mark.parametrize(
    ("node", "opset"),
    [
        ("y, mean, inverse = LayerNormalization <epsilon = 1e-3> (x, scale, scale)", 12),
        ("y, inverse = SimplifiedLayerNormalization <axis = -1, epsilon = 1e-3, stash_type = 1> (x, scale)", 14),
        ("y = ai.onnx.SimplifiedLayerNormalization (x, scale)", 21),
    ],
)
def test_of_any_opset(node: str, opset: int) -> None:
    proto = onnx.parser.parse_model(
        f"""
        <ir_version: 8, opset_import: ["": {opset}]>
        net (float[2, 3, 5] x) => (float[2, 3, 5] z) <float[5] scale = {{1, -2, 0.5, 3, 1}}>
        {{ {node}  z = Relu (y) }}"""
    )
    feeds = {"x": random((2, 3, 5))}
    assert_close(webnn_compile.compile(proto, target="native").run(feeds), onnxruntime_results(proto, feeds))


def test_others_are_named() -> None:
    proto = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 14]> net (float[2] x) => (float[2] y) { y = NoNormalization (x) }'
    )
    with pytest.raises(webnn_compile.UnsupportedError, match=r"NoNormalization \(no operator of opset 14\): 1 node"):
        webnn_compile.compile(proto, target="native")
