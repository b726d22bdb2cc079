"""Scan as it was in opset 8: over a batch of sequences, each of a length of its own."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
import webnn_compile
from drivers import need_driver
from onnx import TensorProto, helper
from onnx_models import node, random

BATCH, LONGEST, WIDTH = 3, 5, 2


def scan(directions: list[int]) -> onnx.ModelProto:
    """A running sum, and each product with what is added."""

    def of(name: str, *shape: int) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    nodes = [node("Add", ["sum", "x"], ["next"]), node("Mul", ["next", "x"], ["row"])]
    body = helper.make_graph(nodes, "body", [of("sum", WIDTH), of("x", WIDTH)], [of("next", WIDTH), of("row", WIDTH)])
    made = node(
        "Scan", ["lengths", "start", "xs"], ["final", "rows"], num_scan_inputs=1, body=body, directions=directions
    )
    inputs = [
        helper.make_tensor_value_info("lengths", TensorProto.INT64, [BATCH]),
        of("start", BATCH, WIDTH),
        of("xs", BATCH, LONGEST, WIDTH),
    ]
    graph = helper.make_graph([made], "scan", inputs, [of("final", BATCH, WIDTH), of("rows", BATCH, LONGEST, WIDTH)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 8)], ir_version=4)


@pytest.mark.parametrize("directions", [[0], [1]])
@pytest.mark.parametrize("target", ["native", "wasm", "webgl"])
def test_sequences_end_by_their_own_lengths(target: str, directions: list[int]) -> None:
    need_driver(target)
    made = scan(directions)
    compiled = webnn_compile.compile(made, target)
    session = onnxruntime.InferenceSession(made.SerializeToString())
    for lengths in ([5, 2, 3], [1, 4, 5]):
        feeds = {
            "lengths": np.array(lengths, np.int64),
            "start": random((BATCH, WIDTH), 1),
            "xs": random((BATCH, LONGEST, WIDTH), sum(lengths)),
        }
        found = compiled.run(feeds)
        for name, expected in zip(("final", "rows"), session.run(["final", "rows"], feeds), strict=True):
            np.testing.assert_allclose(found[name], expected, rtol=1e-6, atol=1e-6)
