"""Operands of products of two computed tensors: their columns become innermost, by their producer or by a copy."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
import webnn_compile
from kernel_checks import check_model
from onnx_models import model, node, random
from webnn_compile.frontends.model_inputs import Dim, ModelInputs
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.pipeline.lowered import Lowered
from webnn_compile.target import CPU_LAYOUTS


def lowered(proto: onnx.ModelProto) -> Lowered:
    return lower_model(run_graph_passes(import_model(proto)))


def copies(low: Lowered) -> list[tuple[str, tuple[int, ...]]]:
    """Names of what is copied, and the order of each copy's dimensions in memory."""
    made = [g for g in low.groups if g.origin.ops == ("Layout",) and g.output.name.rpartition(".")[2][:7] == "columns"]
    return [(g.reads[0].name, low.layouts[g.output].order) for g in made]


def scores(rows: int) -> onnx.ModelProto:
    """q K' for keys "k" of (2, 9, 6)."""
    nodes = [node("Transpose", ["k"], ["t"], perm=[0, 2, 1]), node("MatMul", ["q", "t"], ["y"])]
    return model(nodes, {"q": [2, rows, 6], "k": [2, 9, 6]}, ["y"])


def test_a_given_operand_is_copied_where_rows_repay_it() -> None:
    least = CPU_LAYOUTS.copied_columns
    assert least is not None
    assert copies(lowered(scores(least))) == [("k", (0, 2, 1))]
    assert copies(lowered(scores(least - 1))) == []
    check_model(scores(least))
    check_model(scores(least - 1))


def test_the_producer_of_an_operand_scatters_it_where_nothing_else_reads_it() -> None:
    nodes = [node("Sigmoid", ["x"], ["k"]), node("Einsum", ["q", "k"], ["y"], equation="bid,bjd->bij")]
    proto = model(nodes, {"q": [2, 12, 6], "x": [2, 9, 6]}, ["y"])
    low = lowered(proto)
    assert copies(low) == []
    keys = next(g.output for g in low.groups if "Sigmoid" in g.origin.ops)
    assert low.layouts[keys].order == (0, 2, 1)
    check_model(proto)


def test_an_operand_with_two_readers_is_copied_once_for_all_that_need_it() -> None:
    """Keys that are values, too, and that two queries look at."""
    proto = model(
        [
            node("Sigmoid", ["x"], ["k"]),
            node("Transpose", ["k"], ["t"], perm=[0, 2, 1]),
            node("MatMul", ["q", "t"], ["a"]),
            node("MatMul", ["p", "t"], ["b"]),
            node("Add", ["a", "b"], ["s"]),
            node("MatMul", ["s", "k"], ["y"]),
        ],
        {"q": [2, 9, 6], "p": [2, 9, 6], "x": [2, 9, 6]},
        ["y"],
    )
    assert len(copies(lowered(proto))) == 1
    check_model(proto)


def test_one_operand_of_a_product_with_itself_is_copied() -> None:
    proto = model(
        [node("Transpose", ["x"], ["t"], perm=[1, 0]), node("MatMul", ["x", "t"], ["y"])], {"x": [11, 7]}, ["y"]
    )
    assert copies(lowered(proto)) == [("x", (1, 0))]
    check_model(proto)


@pytest.mark.parametrize(("trans_a", "count"), [(0, 1), (1, 0)])
def test_a_product_that_has_vectors_as_it_is_has_no_copy(trans_a: int, count: int) -> None:
    """Where rows of the other operand are contiguous, too, they are the vectors."""
    a = [10, 12] if trans_a else [12, 10]
    proto = model([node("Gemm", ["a", "b"], ["y"], transA=trans_a, transB=1)], {"a": a, "b": [9, 10]}, ["y"])
    assert len(copies(lowered(proto))) == count
    check_model(proto)


@pytest.mark.parametrize(("group", "filters"), [(1, 8), (1, 6), (4, 4), (7, 7)])
def test_a_convolution_by_given_weights_has_channels_last(group: int, filters: int) -> None:
    """As many filters as memory of the result has channels are read."""
    channels = max(group, 4)
    conv = node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1], group=group)
    proto = model([conv], {"x": [1, channels, 6, 5], "w": [filters, channels // group, 3, 3]}, ["y"])
    low = lowered(proto)
    assert copies(low) == [("w", (1, 2, 3, 0))]
    convolution = next(g for g in low.groups if "Conv" in g.origin.ops)
    assert low.layouts[convolution.output].order == (0, 2, 3, 1)
    check_model(proto, work=200_000)


def test_sizes_that_vary_have_copies_of_their_capacity() -> None:
    nodes = [node("Transpose", ["k"], ["t"], perm=[0, 2, 1]), node("MatMul", ["q", "t"], ["y"])]
    proto = model(nodes, {"q": [2, "n", 6], "k": [2, "n", 6]}, ["y"])
    graph = run_graph_passes(import_model(proto, ModelInputs(dims={"n": Dim(1, 20)})))
    assert copies(lower_model(graph)) == [("k", (0, 2, 1))]
    compiled = webnn_compile.compile(proto, target="native", dims={"n": Dim(1, 20)})
    for n in (1, 7, 20):
        q, k = random((2, n, 6), n), random((2, n, 6), n + 100)
        np.testing.assert_allclose(compiled.run({"q": q, "k": k})["y"], q @ k.transpose(0, 2, 1), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("channels", [7, 8])
def test_matrices_by_channels_before_a_convolution(channels: int) -> None:
    """The result has its channels last, rounded up, and so has the copy of each operand."""
    nodes = [
        node("Transpose", ["x"], ["t"], perm=[0, 1, 3, 2]),
        node("MatMul", ["x", "t"], ["p"]),
        node("Conv", ["p", "w"], ["y"], group=channels),
    ]
    proto = model(nodes, {"x": [1, channels, 8, 2]}, ["y"], {"w": random((channels, 1, 2, 2))})
    assert {order for _, order in copies(lowered(proto))} == {(0, 2, 3, 1)}
    check_model(proto, work=200_000)
