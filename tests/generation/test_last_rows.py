"""Logits of the last token alone: the very numbers of the whole graph, computed for one row as far up as rows do not
mix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx_models import Array, model, node, onnxruntime_results, random
from op_table import evaluate_graph
from test_quantised_decoder import DIMS, HEADS, SIZE, floats
from webnn_compile.driver.optimise_model import import_graph, optimise_model
from webnn_compile.driver.options import Options
from webnn_compile.driver.targets import TARGETS
from webnn_compile.driver.work import Work
from webnn_compile.frontends.model_inputs import model_inputs
from webnn_compile.generation.last_rows import last_rows
from webnn_compile.graph.fold_constants import fold_constants
from webnn_compile.graph.ir import Graph
from webnn_compile.graph.verify import verify_graph
from webnn_compile.program.states import State
from webnn_compile.system.cache import open_cache

ROWS, WIDTH = 5, 8
Feeds = dict[str, Array]


def imported(proto: onnx.ModelProto, dims: dict[str, Any] | None = None) -> tuple[Graph, Work]:
    work = Work("m", Options(model_inputs(None, dims or {})), open_cache(enabled=False), lambda _: None)
    return import_graph(proto, work), work


def cut(proto: onnx.ModelProto, feeds: Feeds) -> Graph:
    """The graph of the last rows of its first output, after its results are compared with those of the whole one."""
    graph, _ = imported(proto)
    result = last_rows(graph, graph.outputs[0].name)
    verify_graph(result, "last_rows")
    assert [v.name for v in result.outputs] == [v.name for v in graph.outputs]
    if result is not graph:
        (whole, *others), (last, *same) = evaluate_graph(graph, feeds), evaluate_graph(result, feeds)
        np.testing.assert_array_equal(last, whole[..., -1:, :])
        for a, b in zip(others, same, strict=True):
            np.testing.assert_array_equal(a, b)
    return result


def slices(graph: Graph) -> list[str]:
    """Values of which the last row is taken."""
    return [n.inputs[0].name for n in graph.nodes if n.op == "Gather" and n.inputs[0] is not None]


def line(*ops: onnx.NodeProto, shape: Sequence[int] = (1, ROWS, WIDTH), **weights: Array) -> onnx.ModelProto:
    """A model of nodes from x to y."""
    imports = [helper.make_opsetid("com.microsoft", 1)]
    return model(ops, {"x": shape}, ["y"], weights, opset=21, imports=imports)


def w(*shape: int) -> Array:
    return random(shape, 7)


def bytes_(*shape: int, dtype: str = "uint8") -> Array:
    return np.random.default_rng(3).integers(0, 100, shape).astype(dtype)


SCALE = np.float32(0.05)
ROW_BY_ROW: dict[str, onnx.ModelProto] = {
    "relu": line(node("Relu", ["x"], ["y"])),
    "add": line(node("Add", ["b", "x"], ["y"]), b=w(WIDTH)),
    "add-rows": line(node("Add", ["x", "b"], ["y"]), b=w(ROWS, WIDTH)),
    "square": line(node("Mul", ["x", "x"], ["y"])),
    "where": line(node("Less", ["x", "b"], ["c"]), node("Where", ["c", "x", "b"], ["y"]), b=w(1, 1, WIDTH)),
    "softcap": line(node("Div", ["x", "b"], ["d"]), node("Tanh", ["d"], ["t"]), node("Mul", ["t", "b"], ["y"]), b=w(1)),
    "cast": line(node("Cast", ["x"], ["h"], to=10), node("Cast", ["h"], ["y"], to=1)),
    "clip": line(node("Clip", ["x", "b"], ["y"]), b=np.float32(0.1)),
    "layernorm": line(node("LayerNormalization", ["x", "s", "b"], ["y"]), s=w(WIDTH), b=w(WIDTH)),
    "skip": line(
        node("SkipSimplifiedLayerNormalization", ["x", "r", "s"], ["n", "", "", "t"], domain="com.microsoft"),
        node("Add", ["n", "t"], ["y"]),
        r=w(1, ROWS, WIDTH),
        s=w(WIDTH),
    ),
    "rms": line(
        node("Mul", ["x", "x"], ["q"]),
        node("ReduceMean", ["q", "last"], ["m"]),
        node("Sqrt", ["m"], ["r"]),
        node("Div", ["x", "r"], ["y"]),
        last=np.array([-1]),
    ),
    "softmax": line(node("Softmax", ["x"], ["y"])),
    "matmul": line(node("MatMul", ["x", "w"], ["y"]), w=w(WIDTH, 17)),
    "gemm": line(node("Gemm", ["x", "w", "c"], ["y"], transB=1), shape=(ROWS, WIDTH), w=w(17, WIDTH), c=w(17)),
    "gemm-rows": line(node("Gemm", ["x", "w", "c"], ["y"]), shape=(ROWS, WIDTH), w=w(WIDTH, 9), c=w(ROWS, 9)),
    "fused": line(node("FusedMatMul", ["x", "w"], ["y"], transB=1, domain="com.microsoft"), w=w(9, WIDTH)),
    "nbits": line(
        node("MatMulNBits", ["x", "q", "s"], ["y"], K=WIDTH, N=6, bits=4, block_size=16, domain="com.microsoft"),
        q=bytes_(6, 1, 8),
        s=w(6),
    ),
    "integer": line(
        node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        node("MatMulInteger", ["q", "w", "z"], ["i"]),
        node("Cast", ["i"], ["y"], to=1),
        s=SCALE,
        z=np.uint8(9),
        w=bytes_(WIDTH, 7),
    ),
    "qdq": line(
        node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        node("DequantizeLinear", ["q", "s", "z"], ["d"]),
        node("MatMul", ["d", "f"], ["y"]),
        s=SCALE,
        z=np.uint8(9),
        f=w(WIDTH, 7),
    ),
    "qlinear": line(
        node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        node("QLinearMatMul", ["q", "s", "z", "w", "s", "z", "s", "z"], ["p"]),
        node("DequantizeLinear", ["p", "s", "z"], ["y"]),
        s=SCALE,
        z=np.uint8(9),
        w=bytes_(WIDTH, 7),
    ),
    "slice": line(
        node("Slice", ["x", "a", "b", "d"], ["y"]), a=np.array([2]), b=np.array([7]), d=np.array([2]), shape=(1, 5, 8)
    ),
    "split": line(node("Split", ["x"], ["a", "b"], axis=-1, num_outputs=2), node("Mul", ["a", "b"], ["y"])),
    "concat": line(node("Neg", ["x"], ["n"]), node("Concat", ["x", "n"], ["y"], axis=2)),
    "flat": line(
        node("Reshape", ["x", "a"], ["f"]),
        node("Gemm", ["f", "w"], ["g"]),
        node("Unsqueeze", ["g", "zero"], ["y"]),
        a=np.array([-1, WIDTH]),
        w=w(WIDTH, 3),
        zero=np.array([0]),
    ),
    "heads": line(
        node("Reshape", ["x", "a"], ["f"]),
        node("Transpose", ["f"], ["t"], perm=[0, 2, 1, 3]),
        node("MatMul", ["t", "w"], ["m"]),
        node("Transpose", ["m"], ["u"], perm=[0, 2, 1, 3]),
        node("Reshape", ["u", "b"], ["y"]),
        a=np.array([0, 0, 2, 4]),
        w=w(1, 2, 4, 6),
        b=np.array([0, 0, -1]),
    ),
}

MIXED: dict[str, onnx.ModelProto] = {
    "one-row": line(node("Relu", ["x"], ["y"]), shape=(1, 1, WIDTH)),
    "one-dimension": line(node("Relu", ["x"], ["y"]), shape=(WIDTH,)),
    "cumsum": line(node("CumSum", ["x", "a"], ["y"]), a=np.array(1)),
    "layernorm-of-all": line(node("LayerNormalization", ["x", "s"], ["y"], axis=1), s=w(ROWS, WIDTH)),
    "softmax-of-rows": line(node("Softmax", ["x"], ["y"], axis=1)),
    "mean-of-rows": line(node("ReduceMean", ["x", "a"], ["y"], keepdims=0), a=np.array([2]), shape=(2, ROWS, 1, 3)),
    "of-all-rows": line(node("DynamicQuantizeLinear", ["x"], ["y", "s", "z"])),
    "turned": line(node("Gemm", ["x", "w"], ["y"], transA=1), shape=(WIDTH, ROWS), w=w(WIDTH, 3)),
    "scale-by-row": line(
        node("QuantizeLinear", ["x", "s", "z"], ["q"], axis=1),
        node("Identity", ["q"], ["y"]),
        s=np.full(ROWS, 0.05, np.float32),
        z=np.zeros(ROWS, np.uint8),
    ),
    "rows-joined": line(node("Concat", ["x", "x"], ["y"], axis=1)),
    "rows-sliced": line(node("Slice", ["x", "a", "b", "a"], ["y"]), a=np.array([1]), b=np.array([4])),
    "rows-folded": line(node("Reshape", ["x", "a"], ["y"]), a=np.array([1, 4, 10])),
}


def given(proto: onnx.ModelProto) -> Feeds:
    shape = [d.dim_value for d in proto.graph.input[0].type.tensor_type.shape.dim]
    return {"x": random(shape, 1)}


@pytest.mark.parametrize("name", ROW_BY_ROW)
def test_row_by_row(name: str) -> None:
    proto = ROW_BY_ROW[name]
    result = cut(proto, given(proto))
    assert "x" in slices(result)
    constants = {t.name for t in proto.graph.initializer}
    assert set(slices(result)) <= {"x"} | constants
    assert all(1 in v.shape for n in result.nodes for v in n.outputs if v is not None)


@pytest.mark.parametrize("name", MIXED)
def test_rows_that_mix(name: str) -> None:
    graph, _ = imported(MIXED[name])
    result = last_rows(graph, "y")
    if name == "scale-by-row":
        assert slices(result) == ["q"]
    else:
        assert result is graph


def test_what_else_is_read_stays() -> None:
    nodes = [
        node("Exp", ["x"], ["e"]),
        node("Neg", ["e"], ["n"]),
        node("MatMul", ["n", "w"], ["y"]),
        node("ReduceMax", ["e"], ["other"]),
    ]
    proto = model(nodes, {"x": (1, ROWS, WIDTH)}, ["y", "other"], {"w": w(WIDTH, 4)}, opset=21)
    assert slices(cut(proto, given(proto))) == ["e"]
    proto.graph.output[1].name = "n"
    del proto.graph.node[3]
    assert slices(cut(proto, given(proto))) == ["n"]


def test_a_value_read_by_rows_and_as_a_whole() -> None:
    nodes = [
        node("Exp", ["x"], ["e"]),
        node("Transpose", ["e"], ["t"], perm=[0, 2, 1]),
        node("MatMul", ["e", "t"], ["s"]),
        node("Softmax", ["s"], ["p"]),
        node("MatMul", ["p", "e"], ["y"]),
    ]
    proto = model(nodes, {"x": (1, ROWS, WIDTH)}, ["y"], {}, opset=21)
    result = cut(proto, given(proto))
    assert slices(result) == ["e"]
    shapes = {v.name: v.shape for n in result.nodes for v in n.outputs if v is not None}
    assert shapes["s"] == (1, 1, ROWS)
    assert shapes["t"] == (1, WIDTH, ROWS)


def test_rows_of_constants_are_folded_and_states_stay() -> None:
    graph, _ = imported(ROW_BY_ROW["add-rows"])
    states = (State("x", "y"),)
    result = last_rows(replace(graph, states=states), "y")
    assert sorted(slices(result)) == ["b", "x"]
    folded = fold_constants(result)
    assert slices(folded) == ["x"]
    assert folded.states == states


def test_decoder() -> None:
    """Keys and values of all tokens, and of the last one all else, up to its queries; of lengths that vary."""
    proto = floats()
    dims = {**DIMS, "length": (1, 6)}
    graph, work = imported(proto, dims)
    result = last_rows(graph, "logits")
    verify_graph(result, "last_rows")
    assert sorted(slices(result)) == ["h", "words", "x"]
    row = TARGETS["native"]
    compiled = row.compile(row.lower(optimise_model(result, work), work), work)
    for length, past in ((1, 0), (4, 0), (6, 3), (1, 7)):
        caches = {n: random((1, HEADS, past, SIZE), past + i) for i, n in enumerate(("old_k", "old_v"))}
        feeds = {"ids": np.arange(length, dtype=np.int64)[None] * 3, **caches}
        want = onnxruntime_results(proto, feeds)
        got = compiled.run(feeds)
        np.testing.assert_allclose(got["logits"], want["logits"][:, -1:], rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(got["new_k"], want["new_k"], rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(got["new_v"], want["new_v"], rtol=1e-5, atol=1e-5)
