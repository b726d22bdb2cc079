"""Products by weights that are dequantised in blocks are MatMulNBits where activations may have eight bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from onnx import TensorProto, helper, numpy_helper
from onnx_models import Array, node, random
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.multiply_blocks import multiply_blocks

DEPTH, COLUMNS, SIZE = 64, 24, 16
ROWS = 3


def product(
    dtype: int = TensorProto.INT4,
    *,
    op: str = "MatMul",
    transposed: bool = False,
    zeros: bool = False,
    bias: bool = False,
    depth: int = DEPTH,
    size: int = SIZE,
    **attributes: Any,
) -> onnx.ModelProto:
    generator = np.random.default_rng(dtype)
    low, high = {TensorProto.INT4: (-8, 8), TensorProto.UINT4: (0, 16), TensorProto.INT8: (-128, 128)}[dtype]
    shape, blocks = (depth, COLUMNS), (-(-depth // size), COLUMNS)
    axis = 1 if transposed else 0
    if transposed:
        shape, blocks = shape[::-1], blocks[::-1]
    numpy_type = helper.tensor_dtype_to_np_dtype(dtype)
    tensors = [
        numpy_helper.from_array(generator.integers(low, high, shape).astype(numpy_type), "w"),
        numpy_helper.from_array(generator.uniform(0.01, 0.1, blocks).astype(np.float32), "s"),
    ]
    if zeros:
        tensors.append(numpy_helper.from_array(generator.integers(low, high, blocks).astype(numpy_type), "z"))
    if bias:
        tensors.append(numpy_helper.from_array(random((COLUMNS,), 2), "b"))
    nodes = [
        node("DequantizeLinear", [t.name for t in tensors if t.name != "b"], ["d"], axis=axis, block_size=size),
        node(op, ["x", "d", *(["b"] if bias else [])], ["y"], **attributes),
    ]
    types = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [ROWS, k]) for n, k in (("x", depth), ("y", COLUMNS))]
    graph = helper.make_graph(nodes, "blocks", types[:1], types[1:], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def operators(proto: onnx.ModelProto) -> list[str]:
    return [n.op for n in multiply_blocks(import_model(proto)).nodes]


PRODUCTS = {
    "int4": product(),
    "int4-zeros": product(zeros=True),
    "uint4": product(TensorProto.UINT4),
    "uint4-zeros": product(TensorProto.UINT4, zeros=True),
    "int8": product(TensorProto.INT8),
    "part-of-a-block": product(depth=40, zeros=True),
    "gemm": product(op="Gemm", transposed=True, bias=True, transB=1),
    "gemm-of-columns": product(op="Gemm", zeros=True),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_results(name: str) -> None:
    proto = PRODUCTS[name]
    assert operators(proto) == ["com.microsoft.MatMulNBits"]
    x = random((ROWS, proto.graph.input[0].type.tensor_type.shape.dim[1].dim_value), 3)
    floats, quanta = (run(proto, x, a) for a in ("f32", "int8"))
    np.testing.assert_allclose(quanta, floats, atol=0.02 * np.abs(floats).max())
    assert not np.array_equal(quanta, floats)
    # Numbers that eight bits represent are multiplied exactly.
    whole = np.rint(x * 20)
    whole[:, ::SIZE] = 127
    floats, quanta = (run(proto, whole, a) for a in ("f32", "int8"))
    np.testing.assert_allclose(quanta, floats, atol=1e-5 * np.abs(floats).max())


def run(proto: onnx.ModelProto, x: Array, activations: str) -> Array:
    return webnn_compile.compile(proto, activations=activations).run({"x": x.astype(np.float32)})["y"]


OTHERS = {
    "blocks along columns": product(transposed=True, op="Gemm", depth=COLUMNS),
    "scaled": product(op="Gemm", alpha=0.5),
    "small blocks": product(size=8),
}


@pytest.mark.parametrize("name", OTHERS)
def test_others_stay(name: str) -> None:
    graph = import_model(OTHERS[name])
    assert multiply_blocks(graph) is graph


def test_a_models_own_choice_is_float32() -> None:
    x = random((ROWS, DEPTH), 3)
    np.testing.assert_array_equal(run(product(), x, "model"), run(product(), x, "f32"))
