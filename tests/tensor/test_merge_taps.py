"""Convolutions of few channels as sums over rows of their windows: the same integers, only where pairs get fewer."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx_models import integer_product, model, node, random_integers
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.lower_graph import lower_graph
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.tensor.evaluate import evaluate
from webnn_compile.tensor.merge_taps import merge_taps
from webnn_compile.tensor.program import TensorProgram


def program_of(proto: onnx.ModelProto) -> TensorProgram:
    return lower_graph(run_graph_passes(import_model(proto)))


def convolution(shape: tuple[int, ...], taps: tuple[int, ...], filters: int = 4, **attributes: Any) -> onnx.ModelProto:
    w = random_integers(np.random.default_rng(len(taps)), (filters, shape[1], *taps), np.int8)
    return integer_product("ConvInteger", shape, w, (9, 0), **attributes)


@pytest.mark.parametrize(
    "proto",
    [
        convolution((2, 3, 7, 8), (3, 3), strides=[2, 2], pads=[1, 1, 1, 1]),
        convolution((1, 3, 6, 9), (2, 3), strides=[1, 2], dilations=[2, 1], pads=[0, 2, 1, 0]),
        convolution((2, 3, 21), (5,), strides=[2], pads=[2, 3]),
        convolution((1, 3, 4, 5, 8), (2, 1, 3), strides=[1, 2, 2], pads=[0, 0, 1, 1, 0, 1]),
    ],
    ids=["image", "dilated-rows", "sequence", "volume"],
)
def test_same_integers(proto: onnx.ModelProto) -> None:
    before = program_of(proto)
    after = merge_taps(before)
    assert after is not before
    (_, x), (_, y), (_, z) = before.inputs[0], before.outputs[0], after.outputs[0]
    feed = random_integers(np.random.default_rng(0), x.extents, np.uint8)
    want = evaluate(y, {x: feed})
    assert want.any()
    np.testing.assert_array_equal(evaluate(z, {after.inputs[0][1]: feed}), want)


@pytest.mark.parametrize(
    "proto",
    [
        convolution((1, 4, 7, 8), (3, 3), strides=[2, 2]),
        convolution((1, 2, 7, 8), (3, 3), strides=[2, 2]),
        convolution((1, 3, 7, 8), (3, 3), strides=[2, 1]),
        convolution((1, 3, 7, 8), (3, 1), strides=[2, 2]),
        convolution((1, 3, 7, 8), (2, 2), strides=[2, 2], dilations=[1, 2]),
        convolution((1, 1, 7, 8), (3, 3), strides=[2, 2]),
    ],
    ids=["four-channels", "two-channels", "odd-stride", "one-column", "dilated", "one-channel"],
)
def test_what_stays(proto: onnx.ModelProto) -> None:
    program = program_of(proto)
    assert merge_taps(program) is program


def test_an_image_that_others_read_stays() -> None:
    """Theirs are other rows of memory."""
    w = random_integers(np.random.default_rng(1), (4, 3, 3, 3), np.int8)
    constants = {"w": w, "s": np.float32(0.02), "z": np.asarray(100, np.uint8), "o": np.asarray(0, np.int8)}
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        node("DequantizeLinear", ["q", "s", "z"], ["f"]),
        node("DequantizeLinear", ["w", "s", "o"], ["g"]),
        node("Conv", ["f", "g"], ["y"], strides=[2, 2]),
        node("Conv", ["f", "g"], ["u"], strides=[1, 1]),
    ]
    shape = {"x": (1, 3, 9, 9)}
    program = program_of(model(nodes, shape, ["y", "u"], constants))
    assert merge_taps(program) is program
    alone = program_of(model(nodes[:-1], shape, ["y"], constants))
    assert merge_taps(alone) is not alone
