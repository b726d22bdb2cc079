"""Nodes that pass an input on disappear; names of outputs stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from graph_checks import check_pass, ops
from onnx_models import Array, model, node, random
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.eliminate_dead_code import eliminate_dead_code
from webnn_compile.graph.ir import Graph
from webnn_compile.graph.remove_identities import remove_identities

CONSTANTS: dict[str, Array] = {
    "zero": np.zeros((), np.float32),
    "zeros": np.zeros((3, 1), np.float32),
    "one": np.ones((1,), np.float32),
    "ones": np.ones((2, 3, 4), np.float32),
    "wide_zeros": np.zeros((5, 2, 3, 4), np.float32),
    "mostly_one": np.array([1, 1, 1, 2], np.float32),
    "shape": np.array([2, 3, 4]),
    "other_shape": np.array([3, 2, 4]),
    "no_pads": np.zeros(6, np.int64),
    "shifting_pads": np.array([1, 0, 0, -1, 0, 0]),
    "starts": np.array([0, 0]),
    "ends": np.array([3, 1000]),
    "axes": np.array([1, 2]),
    "forward": np.array([1, 1]),
    "from_end": np.array([-1, -1]),
    "to_begin": np.array([-1000, -1000]),
    "backward": np.array([-1, -1]),
    "once": np.array([1, 1, 1]),
    "empty": np.zeros((2, 0, 4), np.float32),
    "half": np.float32(0.5).reshape(()),
    "false": np.array(False),
    "true": np.array(True),
}


def around(middle: onnx.NodeProto, opset: int = 17) -> onnx.ModelProto:
    """x (2, 3, 4) -> Neg -> the node -> Abs -> y."""
    made = middle.output[0]
    used = {name: data for name, data in CONSTANTS.items() if name in middle.input}
    nodes = [node("Neg", ["x"], ["a"]), middle, node("Abs", [made], ["y"])]
    return model(nodes, {"x": [2, 3, 4]}, ["y"], used, opset=opset)


@pytest.mark.parametrize(
    ("op", "inputs", "attributes", "opset"),
    [
        ("Identity", ["a"], {}, 17),
        ("Dropout", ["a"], {"ratio": 0.5}, 7),
        ("Dropout", ["a", "half"], {}, 13),
        ("Dropout", ["a", "half", "false"], {}, 13),
        ("Cast", ["a"], {"to": 1}, 17),
        ("Reshape", ["a", "shape"], {}, 17),
        ("Expand", ["a", "shape"], {}, 17),
        ("Tile", ["a", "once"], {}, 17),
        ("Transpose", ["a"], {"perm": [0, 1, 2]}, 17),
        ("Pad", ["a"], {"pads": [0] * 6}, 7),
        ("Pad", ["a", "no_pads"], {"mode": "reflect"}, 17),
        ("Slice", ["a"], {"starts": [0], "ends": [1000], "axes": [1]}, 7),
        ("Slice", ["a", "starts", "ends", "axes"], {}, 17),
        ("Slice", ["a", "starts", "ends", "axes", "forward"], {}, 17),
        ("Concat", ["a"], {"axis": 1}, 17),
        ("Concat", ["empty", "a"], {"axis": 1}, 17),
        ("Split", ["a"], {"axis": 1, "num_outputs": 1}, 18),
        ("Sum", ["a"], {}, 17),
        ("Mean", ["a"], {}, 17),
        ("Max", ["a"], {}, 17),
        ("Min", ["a"], {}, 17),
        ("Clip", ["a"], {}, 7),
        ("Clip", ["a"], {}, 17),
        ("Add", ["a", "zero"], {}, 17),
        ("Add", ["zeros", "a"], {}, 17),
        ("Sub", ["a", "zeros"], {}, 17),
        ("Mul", ["a", "ones"], {}, 17),
        ("Mul", ["one", "a"], {}, 17),
        ("Div", ["a", "one"], {}, 17),
        ("Pow", ["a", "one"], {}, 17),
    ],
)
def test_removed(op: str, inputs: list[str], attributes: dict[str, Any], opset: int) -> None:
    graph = check_pass(remove_identities, around(node(op, inputs, ["b"], **attributes), opset))
    assert ops(graph) == ["Neg", "Abs"]


@pytest.mark.parametrize(
    ("op", "inputs", "attributes"),
    [
        ("Cast", ["a"], {"to": 6}),
        ("Reshape", ["a", "other_shape"], {}),
        ("Transpose", ["a"], {"perm": [0, 2, 1]}),
        ("Pad", ["a", "shifting_pads"], {}),
        ("Slice", ["a", "from_end", "to_begin", "axes", "backward"], {}),
        ("Concat", ["a", "a"], {"axis": 1}),
        ("Add", ["a", "wide_zeros"], {}),
        ("Sub", ["zero", "a"], {}),
        ("Div", ["one", "a"], {}),
        ("Mul", ["a", "mostly_one"], {}),
        ("Add", ["a", "one"], {}),
        ("Clip", ["a", "zero"], {}),
        ("Max", ["a", "zero"], {}),
    ],
)
def test_kept(op: str, inputs: list[str], attributes: dict[str, Any]) -> None:
    graph = import_model(around(node(op, inputs, ["b"], **attributes)))
    assert ops(graph) == ["Neg", op, "Abs"]
    assert remove_identities(graph) is graph


def test_transpose_of_extents_of_one_only() -> None:
    nodes = [node("Neg", ["x"], ["a"]), node("Transpose", ["a"], ["b"], perm=[1, 0, 2]), node("Abs", ["b"], ["y"])]
    assert ops(check_pass(remove_identities, model(nodes, {"x": [1, 1, 5]}, ["y"]))) == ["Neg", "Abs"]
    nodes[1] = node("Transpose", ["a"], ["b"], perm=[2, 0, 1])
    graph = import_model(model(nodes, {"x": [3, 3, 3]}, ["y"]))
    assert remove_identities(graph) is graph


def test_dropout_whose_mask_is_read_stays() -> None:
    nodes = [node("Dropout", ["x"], ["d", "mask"]), node("Cast", ["mask"], ["y"], to=1)]
    graph = import_model(model(nodes, {"x": [4]}, ["d", "y"]))
    assert "Dropout" in ops(remove_identities(graph))


def test_dropout_whose_mask_nobody_reads_goes_after_dead_code() -> None:
    def run(graph: Graph) -> Graph:
        return remove_identities(eliminate_dead_code(graph))

    nodes = [node("Neg", ["x"], ["a"]), node("Dropout", ["a"], ["d", "mask"]), node("Abs", ["d"], ["y"])]
    assert ops(check_pass(run, model(nodes, {"x": [4]}, ["y"]))) == ["Neg", "Abs"]


def test_the_node_before_takes_over_the_name_of_an_output() -> None:
    nodes = [node("Neg", ["x"], ["a"]), node("Add", ["a", "k"], ["y"]), node("Abs", ["a"], ["z"])]
    graph = check_pass(remove_identities, model(nodes, {"x": [3]}, ["y", "z"], {"k": np.zeros(3, np.float32)}))
    assert ops(graph) == ["Neg", "Abs"]
    assert graph.nodes[0].outputs == (graph.outputs[0],)
    assert graph.nodes[1].inputs == (graph.outputs[0],)


def test_a_chain_down_to_an_output() -> None:
    nodes = [node("Neg", ["x"], ["a"]), node("Identity", ["a"], ["b"]), node("Identity", ["b"], ["c"])]
    nodes += [node("Identity", ["c"], ["y"]), node("Abs", ["b"], ["z"]), node("Relu", ["y"], ["w"])]
    graph = check_pass(remove_identities, model(nodes, {"x": [3]}, ["y", "z", "w"]))
    assert ops(graph) == ["Neg", "Abs", "Relu"]


def test_two_names_for_one_value_need_an_identity() -> None:
    nodes = [node("Neg", ["x"], ["a"]), node("Identity", ["a"], ["y"]), node("Identity", ["a"], ["z"])]
    graph = check_pass(remove_identities, model(nodes, {"x": [3]}, ["y", "z", "a"]))
    assert sorted(ops(graph)) == ["Identity", "Identity", "Neg"]
    graph = check_pass(remove_identities, model(nodes, {"x": [3]}, ["y", "z"]))
    assert sorted(ops(graph)) == ["Identity", "Neg"]


def test_an_input_that_is_an_output_stays_an_identity() -> None:
    nodes = [node("Mul", ["x", "k"], ["y"], "times"), node("Neg", ["x"], ["z"])]
    graph = check_pass(remove_identities, model(nodes, {"x": [3]}, ["y", "z"], {"k": np.ones(3, np.float32)}))
    assert [(n.op, n.name) for n in graph.nodes] == [("Identity", "times"), ("Neg", "Neg_1")]


def test_nothing_to_do() -> None:
    graph = import_model(model([node("Add", ["x", "k"], ["y"])], {"x": [3]}, ["y"], {"k": random((3,))}))
    assert remove_identities(graph) is graph
