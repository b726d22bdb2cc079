"""Products of int16 become products of bytes: the same integers, whatever the zero points, paddings and readers."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from kernel_checks import Array
from onnx_models import integer_product, model, node, random_integers
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.lower_graph import lower_graph
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.ir.contraction import find_contraction, loaded_operand
from webnn_compile.ir.reduction import Reduce
from webnn_compile.ir.scalar_ops import SIGNED_QUADS, UNSIGNED_QUADS, Dot
from webnn_compile.tensor.evaluate import evaluate
from webnn_compile.tensor.multiply_bytes import multiply_bytes
from webnn_compile.tensor.program import TensorProgram


def program_of(proto: onnx.ModelProto) -> TensorProgram:
    return lower_graph(run_graph_passes(import_model(proto)))


def operand_types(program: TensorProgram) -> set[str]:
    """The types of what is multiplied with constants and summed."""
    found = set()
    for t in program.tensors:
        if isinstance(t.body, Reduce) and (c := find_contraction(t.axes, t.body.axes, t.body.value)) is not None:
            found |= {x.dtype.name for x in map(loaded_operand, (c.a,)) if x is not None}
    return found


def check(proto: onnx.ModelProto, dot: Dot, feeds: dict[str, Array], *, multiplied: bool = True) -> None:
    """The pass changes no output, and the operand is of bytes afterwards."""
    before = program_of(proto)
    after = multiply_bytes(before, dot)
    for (_, a), (_, b) in zip(before.outputs, after.outputs, strict=True):
        want = evaluate(a, {t: feeds[name] for name, t in before.inputs})
        np.testing.assert_array_equal(evaluate(b, {t: feeds[name] for name, t in after.inputs}), want)
    if multiplied:
        assert operand_types(after) == {dot.a.name}
    else:
        assert after is before


@pytest.mark.parametrize("dot", [UNSIGNED_QUADS, SIGNED_QUADS], ids=lambda d: str(d.a))
@pytest.mark.parametrize("of_x", [np.uint8, np.int8])
@pytest.mark.parametrize("zero", [0, 5, -128, 127])
def test_stored_bytes(dot: Dot, of_x: Any, zero: int) -> None:
    """Matrices, and padded convolutions, whose padding counts as the zero point."""
    generator = np.random.default_rng(zero + 200)
    at = zero if of_x is np.int8 else abs(zero)
    w = random_integers(generator, (12, 5), np.int8)
    x = random_integers(generator, (3, 12), of_x)
    check(integer_product("MatMulInteger", x.shape, w, (at, 0), of_x), dot, {"x": x})
    for channels, kernel in ((8, (3, 2)), (3, (2, 2))):
        w = random_integers(generator, (6, channels, *kernel), np.int8)
        x = random_integers(generator, (2, channels, 5, 4), of_x)
        proto = integer_product("ConvInteger", x.shape, w, (at, 0), of_x, pads=[1, 0, 2, 1], strides=[2, 1])
        check(proto, dot, {"x": x})


@pytest.mark.parametrize("dot", [UNSIGNED_QUADS, SIGNED_QUADS], ids=lambda d: str(d.a))
@pytest.mark.parametrize("of_x", [np.uint8, np.int8])
@pytest.mark.parametrize(
    ("shape", "perm"),
    [((12, 5), [1, 0]), ((2, 12, 5), [0, 2, 1]), ((12, 5, 2), [2, 1, 0]), ((2, 4, 12, 5), [1, 0, 3, 2])],
)
def test_transposed_activations(shape: tuple[int, ...], perm: list[int], of_x: Any, dot: Dot) -> None:
    """Bytes that are multiplied together are no neighbours in the input."""
    generator = np.random.default_rng(len(shape))
    nodes = [node("Transpose", ["x"], ["rows"], perm=perm), node("MatMulInteger", ["rows", "w", "z"], ["y"])]
    weights = {"w": random_integers(generator, (12, 7), np.int8), "z": np.asarray(113, of_x)}
    x = random_integers(generator, shape, of_x)
    dtype = onnx.helper.np_dtype_to_tensor_dtype(x.dtype)
    check(model(nodes, {"x": shape}, ["y"], weights, dtype=dtype), dot, {"x": x})


@pytest.mark.parametrize("dot", [UNSIGNED_QUADS, SIGNED_QUADS], ids=lambda d: str(d.a))
def test_dynamic_zero_point(dot: Dot) -> None:
    generator = np.random.default_rng(0)
    nodes = [
        node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        node("MatMulInteger", ["q", "w", "z"], ["y"]),
        node("MatMulInteger", ["q", "v", "z"], ["u"]),
    ]
    weights = {"w": random_integers(generator, (16, 7), np.int8), "v": random_integers(generator, (16, 3), np.int8)}
    x = generator.standard_normal((5, 16)).astype(np.float32) + 1
    proto = model(nodes, {"x": x.shape}, {"y": onnx.TensorProto.INT32, "u": onnx.TensorProto.INT32}, weights)
    check(proto, dot, {"x": x})


@pytest.mark.parametrize("dot", [UNSIGNED_QUADS, SIGNED_QUADS], ids=lambda d: str(d.a))
@pytest.mark.parametrize("zero", [0, 100, 255])
def test_quanta_that_a_sum_reads_too(dot: Dot, zero: int) -> None:
    """A residual block between quantisers: the convolution and the addition read the same bytes."""
    generator = np.random.default_rng(zero)
    q = {"s": np.float32(0.02), "z": np.asarray(zero, np.uint8), "t": np.float32(0.01), "o": np.asarray(0, np.int8)}
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        node("DequantizeLinear", ["q", "s", "z"], ["f"]),
        node("DequantizeLinear", ["w", "t", "o"], ["g"]),
        node("Conv", ["f", "g"], ["c"], pads=[1, 1, 1, 1]),
        node("Add", ["c", "f"], ["y"]),
    ]
    weights = {"w": random_integers(generator, (8, 8, 3, 3), np.int8), **q}
    x = generator.standard_normal((1, 8, 5, 6)).astype(np.float32)
    check(model(nodes, {"x": x.shape}, ["y"], weights), dot, {"x": x})


@pytest.mark.parametrize("dot", [UNSIGNED_QUADS, SIGNED_QUADS], ids=lambda d: str(d.a))
@pytest.mark.parametrize("zero", [0, 100])
@pytest.mark.parametrize("moves", ["pool", "parts", "two-pools"])
def test_quanta_that_are_moved(moves: str, zero: int, dot: Dot) -> None:
    """Between a quantiser and a convolution stands what takes elements of its results: they stay bytes."""
    generator = np.random.default_rng(zero)
    q = {"s": np.float32(0.02), "z": np.asarray(zero, np.uint8), "t": np.float32(0.01), "o": np.asarray(0, np.int8)}
    window = {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]}
    moved = {
        "pool": [node("MaxPool", ["f"], ["m"], **window)],
        "two-pools": [node("MaxPool", ["f"], ["p"], **window), node("MaxPool", ["p"], ["m"], **window)],
        "parts": [
            node("Split", ["f"], ["a", "b"], axis=1),
            node("Concat", ["b", "a"], ["c"], axis=1),
            node("Transpose", ["c"], ["d"], perm=[0, 1, 3, 2]),
            node("Pad", ["d", "pads"], ["m"]),
        ],
    }
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        node("DequantizeLinear", ["q", "s", "z"], ["f"]),
        *moved[moves],
        node("QuantizeLinear", ["m", "s", "z"], ["r"]),
        node("DequantizeLinear", ["r", "s", "z"], ["n"]),
        node("DequantizeLinear", ["w", "t", "o"], ["g"]),
        node("Conv", ["n", "g"], ["y"], pads=[1, 1, 0, 1]),
    ]
    pads = np.array([0, 0, 1, 0, 0, 0, 0, 2])
    weights = {"w": random_integers(generator, (8, 8, 3, 3), np.int8), **q}
    weights |= {"pads": pads} if moves == "parts" else {}
    x = generator.standard_normal((1, 8, 9, 10)).astype(np.float32)
    check(model(nodes, {"x": x.shape}, ["y"], weights), dot, {"x": x})


@pytest.mark.parametrize(("depth", "w_zero"), [(10, 0), (12, 200)], ids=["no-groups-of-four", "weights-of-nine-bits"])
def test_what_stays(depth: int, w_zero: int) -> None:
    generator = np.random.default_rng(depth)
    w = random_integers(generator, (depth, 5), np.uint8 if w_zero else np.int8)
    x = random_integers(generator, (3, depth), np.uint8)
    check(integer_product("MatMulInteger", x.shape, w, (3, w_zero)), UNSIGNED_QUADS, {"x": x}, multiplied=False)
