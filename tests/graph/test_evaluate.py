"""The reference executor and the printer."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
import webnn_compile
from onnx_models import assert_close, model, node, random
from state_rows import ROWS, Row
from webnn_compile.errors import InputError
from webnn_compile.frontends.model_inputs import model_inputs
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.evaluate import evaluate_graph
from webnn_compile.graph.ir import Graph
from webnn_compile.graph.keep_states import keep_states
from webnn_compile.graph.printer import print_graph
from webnn_compile.program.states import StateFullError


@pytest.fixture
def graph() -> Graph:
    nodes = [
        node("Add", ["x", "k"], ["a"], "add"),
        node("Clip", ["a", "", "high"], ["c"], "clip"),
        node("MaxPool", ["c"], ["y"], "pool", kernel_shape=[2], strides=[2]),
    ]
    values = {"k": np.arange(12, dtype=np.float32).reshape(1, 2, 6), "high": np.array(5, np.float32)}
    return import_model(model(nodes, {"x": [1, 2, 6]}, ["y", "a", "k"], values))


def test_outputs_by_name_also_where_they_are_constants_or_read_again(graph: Graph) -> None:
    x = random((1, 2, 6))
    results = evaluate_graph(graph, {"x": x})
    k = np.arange(12, dtype=np.float32).reshape(1, 2, 6)
    assert list(results) == ["y", "a", "k"]
    np.testing.assert_array_equal(results["a"], x + k)
    np.testing.assert_array_equal(results["k"], k)
    np.testing.assert_array_equal(results["y"], np.minimum(x + k, 5).reshape(1, 2, 3, 2).max(-1))


def test_a_size_that_a_run_computes_is_known_to_later_nodes() -> None:
    """The first two of the largest, by a number that is an input; then a node whose result is as long."""
    nodes = [node("TopK", ["x", "count"], ["v", "i"], "top"), node("Add", ["v", "v"], ["y"], "twice")]
    proto = model(nodes, {"x": [1, 6]}, ["y"])
    proto.graph.input.append(onnx.helper.make_tensor_value_info("count", onnx.TensorProto.INT64, [1]))
    x = random((1, 6))
    for count in (2, 6):
        made = evaluate_graph(import_model(proto), {"x": x, "count": np.array([count])})["y"]
        np.testing.assert_array_equal(made, 2 * -np.sort(-x)[:, :count])


def test_missing_feed(graph: Graph) -> None:
    with pytest.raises(InputError, match=r"no array is given for input 'x'; it takes float32\[1, 2, 6\]"):
        evaluate_graph(graph, {})


@pytest.mark.parametrize("array", [np.zeros((1, 2, 5), np.float32), np.zeros((1, 2, 6))])
def test_feed_that_does_not_fit(graph: Graph, array: np.ndarray) -> None:  # type: ignore[type-arg]
    with pytest.raises(InputError, match=r"input 'x' takes float32\[1, 2, 6\], not float"):
        evaluate_graph(graph, {"x": array})


def test_print_graph(graph: Graph) -> None:
    assert print_graph(graph) == (
        "graph test\n"
        "  input x: float32[1, 2, 6]\n"
        "  constant k: float32[1, 2, 6] = 12 elements, 0 to 11\n"
        "  constant high: float32[] = 5.0\n"
        "  a: float32[1, 2, 6] = Add(x, k)  # add\n"
        "  c: float32[1, 2, 6] = Clip(a, _, high)  # clip\n"
        "  y: float32[1, 2, 3] = MaxPool(c, kernel_shape=[2], strides=[2])  # pool\n"
        "  output y: float32[1, 2, 3]\n"
        "  output a: float32[1, 2, 6]\n"
        "  output k: float32[1, 2, 6]\n"
    )


@pytest.mark.parametrize("op", ["ReduceMax", "ReduceMin"])
def test_an_extreme_that_is_folded_is_the_one_that_is_computed(op: str) -> None:
    """Some elements are NaN, which ONNX leaves open."""
    x = np.asarray([[np.nan, 1, -2], [3, np.nan, 7], [np.nan, np.nan, np.nan]], np.float32)
    reduce = node(op, ["x"], ["y"], axes=[1])
    (computed,) = webnn_compile.compile(model([reduce], {"x": [3, 3]}, ["y"], opset=13)).run({"x": x}).values()
    folded = import_model(model([reduce], {}, ["y"], {"x": x}, opset=13))
    np.testing.assert_array_equal(evaluate_graph(folded, {})["y"], computed)


def test_float16_is_folded_in_float32() -> None:
    """The sum of squares exceeds float16; adding in it would end at 2048."""
    x = np.full(4096, 8, np.float16)
    nodes = [node("ReduceL2", ["x"], ["y"], keepdims=0), node("ReduceSum", ["z"], ["s"], keepdims=0)]
    weights = {"x": x, "z": np.ones(4096, np.float16)}
    results = evaluate_graph(import_model(model(nodes, {}, ["y", "s"], weights, opset=18)), {})
    assert {name: (float(a), a.dtype) for name, a in results.items()} == {
        "y": (512, np.float16),
        "s": (4096, np.float16),
    }


@pytest.mark.parametrize("row", ROWS, ids=lambda r: r.name)
def test_states_are_inputs_and_outputs(row: Row) -> None:
    """Arrays that one run returns are given to the next: sizes go by their shapes."""
    graph = keep_states(import_model(row.model, model_inputs(None, row.dims)), row.pairs, ())
    assert [s.before for s in graph.states] == list(row.states)
    before = {v.name: np.zeros([n if isinstance(n, int) else 0 for n in v.shape], v.dtype.numpy) for v in graph.inputs}
    states = {name: before[name] for name in row.states}
    for given, results, left in row.runs(6):
        made = evaluate_graph(graph, {**given, **states})
        states = {s.before: made.pop(s.after) for s in graph.states}
        assert_close(made, results)
        assert_close(states, left)


def test_a_state_beyond_the_capacity_does_not_fit() -> None:
    row = next(r for r in ROWS if r.name == "rows behind others")
    graph = keep_states(import_model(row.model, model_inputs(None, row.dims)), row.pairs, ())
    with pytest.raises(StateFullError, match="P is 41, and the model was compiled for at most 40"):
        evaluate_graph(graph, {"x": np.ones((2, 1, 5), np.float32), "p": np.ones((2, 41, 5), np.float32)})
