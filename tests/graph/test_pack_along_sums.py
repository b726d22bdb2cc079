"""Weights of few bits for products: where their elements are packed, and that they stay the same."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
import webnn_compile
from onnx_models import Array, model, node, random
from prepared_models import by_codebook
from webnn_compile.driver.optimise_model import import_graph
from webnn_compile.driver.options import Options
from webnn_compile.driver.work import Work
from webnn_compile.graph.ir import Graph
from webnn_compile.graph.pack_along_sums import pack_along_sums
from webnn_compile.graph.verify import verify_graph
from webnn_compile.system.cache import open_cache

DEPTH, COLUMNS, BLOCK = 130, 300, 16
_r = np.random.default_rng(0)
Q = _r.integers(-8, 8, (DEPTH, COLUMNS))
SCALE = _r.uniform(0.01, 0.02, (-(-DEPTH // BLOCK), COLUMNS)).astype(np.float32)


def products(*more: onnx.NodeProto, **attributes: int) -> onnx.ModelProto:
    q, scale, axis = (Q.T, SCALE.T, 1) if attributes.get("transB") else (Q, SCALE, 0)
    held = onnx.helper.tensor_dtype_to_np_dtype(onnx.TensorProto.INT4)
    nodes = [
        node("DequantizeLinear", ["q", "s"], ["w"], axis=axis, block_size=BLOCK),
        node("Gemm", ["x", "w"], ["y"], **attributes),
        *more,
    ]
    constants: dict[str, Array] = {"q": np.ascontiguousarray(q).astype(held), "s": np.ascontiguousarray(scale)}
    return model(nodes, {"x": [3, DEPTH]}, ["y", *(o for n in more for o in n.output)], constants, 21)


def imported(proto: onnx.ModelProto) -> Graph:
    return import_graph(proto, Work("m", Options(), open_cache(enabled=False), lambda _: None))


def test_elements_of_a_byte_are_of_one_column() -> None:
    packed = pack_along_sums(imported(products()))
    verify_graph(packed, "pack_along_sums")
    (unpack,) = [n for n in packed.folded.values() if n.op == "Unpack"]
    assert unpack.attributes["axis"] == 0
    (words,) = unpack.reads
    assert packed.constants[words].shape == (DEPTH // 2, COLUMNS)
    x = random((3, DEPTH))
    want = x @ (Q * SCALE.repeat(BLOCK, 0)[:DEPTH])
    np.testing.assert_allclose(webnn_compile.compile(products()).run({"x": x})["y"], want, rtol=1e-4, atol=1e-4)


TABLE = random((16,), 3)


def codebook(*more: onnx.NodeProto, **attributes: int) -> onnx.ModelProto:
    """Elements are places in a table: of whole blocks."""
    depth, held = DEPTH // BLOCK * BLOCK, onnx.helper.tensor_dtype_to_np_dtype(onnx.TensorProto.UINT4)
    nodes = [*by_codebook("q", "w"), node("Gemm", ["x", "w"], ["y"], **attributes), *more]
    constants: dict[str, Array] = {
        "q": (Q[:depth] + 8).astype(held),
        "table": TABLE,
        "s": SCALE[: depth // BLOCK, None],
        "blocks": np.array([depth // BLOCK, BLOCK, COLUMNS]),
        "shape": np.array([depth, COLUMNS]),
    }
    outputs = ["y", *(o for n in more for o in n.output)]
    return model(nodes, {"x": [3, COLUMNS if attributes.get("transB") else depth]}, outputs, constants, 21)


def test_places_in_a_codebook() -> None:
    packed = pack_along_sums(imported(codebook()))
    verify_graph(packed, "pack_along_sums")
    (unpack,) = [n for n in packed.folded.values() if n.op == "Unpack"]
    assert unpack.attributes["axis"] == 0
    depth = DEPTH // BLOCK * BLOCK
    (words,) = unpack.reads
    assert packed.constants[words].shape == (depth // 2, COLUMNS)
    x = random((3, depth))
    want = x @ (TABLE[Q[:depth] + 8] * SCALE.repeat(BLOCK, 0)[:depth])
    np.testing.assert_allclose(webnn_compile.compile(codebook()).run({"x": x})["y"], want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "proto",
    [
        pytest.param(products(transB=1), id="rows are summed over"),
        pytest.param(products(node("Gemm", ["y", "w"], ["z"], transB=1)), id="another reader"),
        pytest.param(codebook(transB=1), id="rows of a codebook are summed over"),
        pytest.param(codebook(node("MatMul", ["x", "entries"], ["z"])), id="another reader of what a codebook says"),
    ],
)
def test_others_stay(proto: onnx.ModelProto) -> None:
    graph = imported(proto)
    assert pack_along_sums(graph) is graph
