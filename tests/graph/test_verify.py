"""The verifier finds what a pass could break, and names the pass."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from onnx_models import model, node
from webnn_compile.dtypes import F32, I32
from webnn_compile.errors import InternalError
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.ir import Graph, Node, Value
from webnn_compile.graph.verify import verify_graph

ONES = np.ones(3, np.float32)


@pytest.fixture
def graph() -> Graph:
    nodes = [node("Add", ["x", "k"], ["a"], "add"), node("Neg", ["a"], ["y"], "neg")]
    return import_model(model(nodes, {"x": [3]}, ["y"], {"k": ONES}))


def expect(graph: Graph, problem: str) -> None:
    with pytest.raises(InternalError, match=rf"^after some_pass: graph 'test': {problem}.*please report"):
        verify_graph(graph, "some_pass")


def test_valid(graph: Graph) -> None:
    verify_graph(graph, "some_pass")


def test_order(graph: Graph) -> None:
    expect(replace(graph, nodes=graph.nodes[::-1]), r"Neg 'neg' reads a: float32\[3\] before it is made")


def test_made_twice(graph: Graph) -> None:
    twin = replace(graph.nodes[1], name="twin")
    expect(replace(graph, nodes=(*graph.nodes, twin)), r"Neg 'twin' makes y: float32\[3\] once more")


def test_missing_output(graph: Graph) -> None:
    expect(replace(graph, nodes=graph.nodes[:1]), r"nothing makes output y: float32\[3\]")


def test_missing_constant(graph: Graph) -> None:
    expect(replace(graph, constants={}), r"Add 'add' reads k: float32\[3\] before it is made")


@pytest.mark.parametrize("data", [ONES[:2], ONES.astype(np.float64)])
def test_constant_of_another_type(graph: Graph, data: np.ndarray) -> None:  # type: ignore[type-arg]
    expect(replace(graph, constants=dict.fromkeys(graph.constants, data)), r"constant k: float32\[3\] holds float")


def test_input_with_a_constant(graph: Graph) -> None:
    expect(
        replace(graph, constants={**graph.constants, graph.inputs[0]: ONES}),
        "an input is listed twice, or has a constant value",
    )


@pytest.mark.parametrize("wrong", [Value("y", (4,), F32), Value("y", (3,), I32)])
def test_shape_or_dtype_other_than_the_definition(graph: Graph, wrong: Value) -> None:
    neg = replace(graph.nodes[1], outputs=(wrong,))
    changed = replace(graph, nodes=(graph.nodes[0], neg), outputs=(wrong,))
    expect(changed, r"Neg 'neg' makes float32\[3\], not y: ")


def test_what_the_definition_refuses(graph: Graph) -> None:
    unknown = replace(graph.nodes[1], op_type="Mystery")
    expect(replace(graph, nodes=(graph.nodes[0], unknown)), r"Mystery \(node 'neg'\): this operator is not supported")


def test_too_many_outputs(graph: Graph) -> None:
    neg = replace(graph.nodes[1], outputs=(*graph.nodes[1].outputs, Value("z", (3,), F32)))
    expect(replace(graph, nodes=(graph.nodes[0], neg)), "Neg 'neg' has 2 outputs where its operator makes 1")


def test_names(graph: Graph) -> None:
    (a,) = graph.nodes[0].outputs
    extra = Node("Abs", "abs", (a,), (Value("k", (3,), F32),), {}, 17)
    expect(replace(graph, nodes=(*graph.nodes, extra)), "two values are named 'k'")
    extra = Node("Abs", "neg", (a,), (Value("z", (3,), F32),), {}, 17)
    expect(replace(graph, nodes=(*graph.nodes, extra)), "two nodes are named 'neg'")
    expect(replace(graph, outputs=graph.outputs * 2), "two outputs are named 'y'")
