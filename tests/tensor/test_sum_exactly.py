"""Sums of integer products in float32: the same integers, for those that float32 holds alone."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from kernel_checks import Array
from onnx_models import integer_product, model, node, random_integers
from webnn_compile.choices import DEFAULT
from webnn_compile.dtypes import F32, I16, I32, DType
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.lower_graph import lower_graph
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.ir.nodes import Binary
from webnn_compile.ir.reduction import Reduce
from webnn_compile.tensor.evaluate import evaluate
from webnn_compile.tensor.program import TensorProgram
from webnn_compile.tensor.sum_exactly import LARGEST, sum_exactly


def check(proto: onnx.ModelProto, feeds: dict[str, Array], sums: DType) -> TensorProgram:
    """The pass changes no output; products are summed in `sums` afterwards."""
    before = lower_graph(run_graph_passes(import_model(proto)))
    after = sum_exactly(before, lambda _: DEFAULT)
    for (_, a), (_, b) in zip(before.outputs, after.outputs, strict=True):
        want = evaluate(a, {t: feeds[name] for name, t in before.inputs})
        np.testing.assert_array_equal(evaluate(b, {t: feeds[name] for name, t in after.inputs}), want)
    found = {t.dtype for t in after.tensors if isinstance(t.body, Reduce) and isinstance(t.body.value, Binary)}
    assert found == {sums}
    assert (after is before) == (sums == I32)
    return after


@pytest.mark.parametrize("zeros", [(0, 0), (7, 0), (250, 3)])
def test_matrices_and_convolutions(zeros: tuple[int, int]) -> None:
    generator = np.random.default_rng(sum(zeros))
    w = random_integers(generator, (12, 5), np.int8)
    check(
        integer_product("MatMulInteger", (3, 12), w, zeros), {"x": random_integers(generator, (3, 12), np.uint8)}, F32
    )
    w = random_integers(generator, (6, 3, 3, 2), np.int8)
    proto = integer_product("ConvInteger", (2, 3, 5, 4), w, zeros, pads=[1, 0, 2, 1], strides=[2, 1])
    check(proto, {"x": random_integers(generator, (2, 3, 5, 4), np.uint8)}, F32)


@pytest.mark.parametrize(
    ("length", "last", "sums", "parts"), [(519, 0, F32, 1), (519, 1, F32, 3), (521, 1, I32, 1), (1042, 0, F32, 2)]
)
@pytest.mark.parametrize("batch", [(), (1,)])
def test_the_largest_sum_that_float32_holds(
    length: int, last: int, sums: DType, parts: int, batch: tuple[int, ...]
) -> None:
    """518 times 255 * 127, and what is left up to 2**24; one more might be rounded. There are parts of a length that
    has divisors."""
    w = np.zeros((length, 2), np.int8)
    w[:518] = 127
    w[518] = LARGEST // 255 - 127 * 518 + last
    w[521:] = 100
    x = np.full((*batch, 3, length), 255, np.uint8)
    after = check(integer_product("MatMulInteger", x.shape, w, (0, 0)), {"x": x}, sums)
    products = next(t for t in after.tensors if isinstance(t.body, Reduce) and isinstance(t.body.value, Binary))
    assert products.extents == ((parts,) if parts > 1 else batch) + (3, 2)


@pytest.mark.parametrize(
    ("depth", "batch", "sums", "parts"),
    [(258, (), F32, 1), (259, (), I32, 1), (512, (), F32, 2), (256, (2,), F32, 1), (512, (2,), I32, 1)],
)
def test_operands_that_a_run_computes(depth: int, batch: tuple[int, ...], sums: DType, parts: int) -> None:
    """Sums that may be as large as 258 times 255 * 255."""
    nodes = [node("MatMulInteger", ["a", "b"], ["y"])]
    shapes = {"a": (*batch, 3, depth), "b": (*batch, depth, 2)}
    proto = model(nodes, shapes, ["y"], dtype=onnx.TensorProto.UINT8)
    after = check(proto, {n: np.full(shape, 255, np.uint8) for n, shape in shapes.items()}, sums)
    products = next(t for t in after.tensors if isinstance(t.body, Reduce) and isinstance(t.body.value, Binary))
    assert products.extents == ((parts,) if parts > 1 else batch) + (3, 2)


def test_readers_have_floats_or_convert_them() -> None:
    generator = np.random.default_rng(3)
    w, x = random_integers(generator, (8, 4), np.int8), random_integers(generator, (3, 8), np.uint8)
    nodes = [node("MatMulInteger", ["x", "w"], ["t"]), node("Cast", ["t"], ["y"], to=1), node("Abs", ["t"], ["z"])]
    check(model(nodes, {"x": x.shape}, ["y", "z"], {"w": w}, dtype=onnx.TensorProto.UINT8), {"x": x}, F32)


def test_products_of_one_tensor_share_it() -> None:
    """Each subtracts the zero point for itself, but for one that has another."""
    generator = np.random.default_rng(4)
    x = random_integers(generator, (3, 8), np.uint8)
    constants: dict[str, Array] = {f"w{i}": random_integers(generator, (8, 4), np.int8) for i in range(3)}
    constants |= {"z": np.array(5, np.uint8), "other": np.array(9, np.uint8)}
    zeros = ("z", "z", "other")
    nodes = [node("MatMulInteger", ["x", f"w{i}", z], [f"y{i}"]) for i, z in enumerate(zeros)]
    proto = model(nodes, {"x": x.shape}, ["y0", "y1", "y2"], constants, dtype=onnx.TensorProto.UINT8)
    after = check(proto, {"x": x}, F32)
    maps = [t for t in after.tensors if t.dtype == F32 and not isinstance(t.body, Reduce)]
    assert len(maps) == 2
    assert len([t for t in after.tensors if t.dtype == I16]) == 2
