"""Sums of products of bytes, less their zero points, are scheduled like those of floats: tiles of vectors that compute
exactly what the definition does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from kernel_checks import NARROW, WIDE, check_model, stages_of
from onnx_models import Array, model, node, random_integers
from webnn_compile.dtypes import I32
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.ir.lanes import lanes_of
from webnn_compile.ir.nodes import Binary
from webnn_compile.ir.rewrite import walk
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.target import WASM_PLAIN, WASM_RELAXED, Target

PAIRED = replace(WIDE, name="paired", dots=("dot_pairs",))
WIDEST = Target("widest", lanes=16, registers=31, fused=True, dots=("dot_pairs",))
TARGETS = (NARROW, WIDE, Target("few", lanes=4, registers=6, fused=False), WIDEST)
WORK = 60_000

Convolution = tuple[list[int], list[int], dict[str, Any]]
CONVOLUTIONS: dict[str, Convolution] = {
    "1x1": ([1, 9, 3, 5], [13, 9, 1, 1], {}),
    "padded": ([1, 5, 5, 7], [11, 5, 3, 3], {"pads": [1, 0, 2, 1]}),
    "strided": ([1, 3, 7, 9], [8, 3, 3, 2], {"strides": [2, 3], "pads": [1, 1, 1, 1]}),
    "groups": ([1, 8, 4, 5], [10, 4, 3, 3], {"group": 2, "pads": [1, 1, 1, 1]}),
    "depthwise": ([1, 11, 6, 5], [11, 1, 3, 3], {"group": 11, "pads": [1, 1, 1, 1]}),
    "line": ([1, 6, 9], [5, 6, 4], {"dilations": [2]}),
}


def random_bytes(generator: np.random.Generator, *shape: int, signed: bool) -> Array:
    return random_integers(generator, shape, np.int8 if signed else np.uint8)


def check(nodes: list[onnx.NodeProto], shape: list[int], weights: dict[str, Array], seed: int) -> None:
    """On one target after the other, by the seed."""
    proto = model(nodes, {"x": shape}, ["y"], weights, dtype=onnx.TensorProto.UINT8)
    check_model(proto, [TARGETS[seed % len(TARGETS)]], work=WORK)


def with_zero_points(op: str, kind: int, w: Array, columns: int) -> tuple[list[str], dict[str, Array]]:
    """A node's inputs and its constants: without zero points; that of x; one of the weights; one for each column."""
    generator = np.random.default_rng(kind)
    of_x = {"z": np.asarray(generator.integers(1, 256), np.uint8)} if kind else {}
    shape = {2: (), 3: (columns,)}.get(kind)
    of_w = {} if shape is None else {"v": random_bytes(generator, *shape, signed=w.dtype == np.int8)}
    return ["x", "w", *of_x, *of_w], {"w": w, **of_x, **of_w}


@pytest.mark.parametrize("kind", range(4))
@pytest.mark.parametrize("seed", range(3))
def test_matrix_product(seed: int, kind: int) -> None:
    generator = np.random.default_rng(4 * seed + kind)
    rows, depth, columns = (int(n) for n in generator.integers(1, 30, 3))
    w = random_bytes(generator, depth, columns, signed=(seed + kind) % 2 == 1)
    inputs, weights = with_zero_points("MatMulInteger", kind, w, columns)
    check([node("MatMulInteger", inputs, ["y"])], [rows, depth], weights, seed + kind)


@pytest.mark.parametrize("case", CONVOLUTIONS)
@pytest.mark.parametrize("kind", range(4))
def test_convolution(case: str, kind: int) -> None:
    """Padding counts as the zero point of x."""
    shape, kernel, attributes = CONVOLUTIONS[case]
    w = random_bytes(np.random.default_rng(kind), *kernel, signed=kind % 2 == 1)
    inputs, weights = with_zero_points("ConvInteger", kind, w, len(w))
    check([node("ConvInteger", inputs, ["y"], **attributes)], shape, weights, kind)


def test_sums_wrap_around() -> None:
    """2**31 and more, as int32 has them."""
    a, b = np.full((5, 37), -(2**31) + 1, np.int32), np.full((37, 9), 3, np.int32)
    proto = model([node("MatMul", ["x", "w"], ["y"])], {"x": a.shape}, ["y"], {"w": b}, dtype=onnx.TensorProto.INT32)
    np.testing.assert_array_equal(webnn_compile.compile(proto).run({"x": a})["y"], a @ b)


@pytest.mark.parametrize("target", [WASM_PLAIN, WASM_RELAXED, WIDE, PAIRED], ids=lambda t: t.name)
@pytest.mark.parametrize("op", ["MatMulInteger", "ConvInteger", "depthwise"])
def test_products_are_of_vectors_and_weights_of_bytes(op: str, target: Target) -> None:
    """In what dynamic quantisation makes of a layer."""
    generator = np.random.default_rng(0)
    group, filters = (32, 32) if op == "depthwise" else (1, 64)
    convolved = op != "MatMulInteger"
    shape, kernel = ([1, 32, 6, 6], [filters, 32 // group, 3, 3]) if convolved else ([7, 32], [32, filters])
    attributes = {"group": group, "pads": [1, 1, 1, 1]} if convolved else {}
    nodes = [
        node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        node("ConvInteger" if convolved else "MatMulInteger", ["q", "w", "z", "v"], ["sum"], **attributes),
        node("Cast", ["sum"], ["scaled"], to=onnx.TensorProto.FLOAT),
        node("MaxPool", ["scaled"], ["y"], kernel_shape=[2, 2]) if convolved else node("Relu", ["scaled"], ["y"]),
    ]
    weights = {"w": random_bytes(generator, *kernel, signed=False), "v": np.asarray(128, np.uint8)}
    lowered = lower_model(run_graph_passes(import_model(model(nodes, {"x": shape}, ["y"], weights))))
    dots = {*target.dots} if target.dots and op != "depthwise" else {"*"}
    lanes, constants = set(), set()
    for sums, stages in stages_of(lowered, target):
        if sums.reduce is not None and sums.reduce.dtype == I32:
            kernel = dict(stages)["vectorize_loops"]
            products = (n for n in walk(kernel.body) if isinstance(n, Binary) and n.op in dots and n.dtype == I32)
            lanes |= {*map(lanes_of, products)}
            constants |= {p.dtype.name for p in kernel.params if p.constant and p.size > 1}
    assert target.lanes in lanes
    assert constants == ({"int8"} if dots == {"*"} else {"int16"})  # elements, or words of two
