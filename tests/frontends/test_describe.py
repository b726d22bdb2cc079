"""Descriptions of files, before any shape is chosen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_models import model, node, random
from webnn_compile.errors import InputError
from webnn_compile.frontends.importers import describe_model
from webnn_compile.frontends.model_card import ModelCard, Port


def described(proto: onnx.ModelProto) -> ModelCard:
    return describe_model(proto.SerializeToString())


def relu(shape: list[int | str | None] | None, **changes: object) -> onnx.ModelProto:
    return model([node("Relu", ["x"], ["y"])], {"x": shape}, ["y"], **changes)  # type: ignore[arg-type]


def test_a_model(tmp_path: Path) -> None:
    """Names, numbers and ports; the most frequent operators first."""
    nodes = [node("Relu", ["x"], ["a"]), node("MatMul", ["a", "w"], ["b"]), node("Relu", ["b"], ["y"])]
    proto = model(nodes, {"x": ["batch", 6]}, [], {"w": random((6, 4)), "unused": random((3,))}, 18)
    proto.graph.output.append(helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 4]))
    proto.producer_name, proto.producer_version = "pytorch", "2.9"
    onnx.save(proto, tmp_path / "net.onnx")
    card = describe_model(tmp_path / "net.onnx")
    inputs, outputs = (Port("x", "float32", ("batch", 6)),), (Port("y", "float32", ("batch", 4)),)
    weights = {"float32": 108}
    assert card == ModelCard(
        "net.onnx", "pytorch 2.9", 18, {"Relu": 2, "MatMul": 1}, 27, inputs, outputs, weights=weights
    )
    assert list(card.operators) == ["Relu", "MatMul"]


@pytest.mark.parametrize(
    ("declared", "shape"),
    [
        ([1, 3, 224, 224], (1, 3, 224, 224)),
        (["n", 3, "h", "h"], ("n", 3, "h", "h")),
        ([None, 3], (None, 3)),
        ([0, 3], (None, 3)),
        ([-1, 3], (None, 3)),
        (["?", 3, "?"], (None, 3, None)),
        (["-1", 3], (None, 3)),
        ([], ()),
        (None, None),
    ],
)
def test_dimensions(declared: list[int | str | None] | None, shape: tuple[int | str | None, ...] | None) -> None:
    """Zero, less, and question marks are what some exporters write for those that they do not know."""
    (port,) = described(relu(declared)).inputs
    assert port == Port("x", "float32", shape)


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (TensorProto.DOUBLE, "float64"),
        (TensorProto.FLOAT16, "float16"),
        (TensorProto.INT64, "int64"),
        (TensorProto.BOOL, "bool"),
        (TensorProto.BFLOAT16, "bfloat16"),
        (TensorProto.STRING, "string"),
        (99, "number 99, unknown to ONNX"),
    ],
)
def test_types(code: int, name: str) -> None:
    """Types are described that the compiler refuses, too."""
    proto = relu([2])
    proto.graph.input[0].type.tensor_type.elem_type = code
    assert described(proto).inputs == (Port("x", name, (2,)),)


def test_an_output_without_a_type() -> None:
    assert described(relu([2])).outputs in ((Port("y", "undefined", None),), (Port("y", "no type", None),))


def test_inputs_that_are_no_tensors() -> None:
    proto = relu([2])
    proto.graph.input.append(helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, [2]))
    proto.graph.input.append(onnx.ValueInfoProto(name="untyped"))
    _, sequence, untyped = described(proto).inputs
    assert sequence == Port("s", "sequence_type", None)
    assert untyped == Port("untyped", "no type", None)


def test_weights_that_are_inputs_too() -> None:
    """As old exporters write them: they are no inputs."""
    proto = model([node("Add", ["x", "w"], ["y"])], {"x": [4], "w": [4]}, ["y"], {"w": random((4,))})
    card = described(proto)
    assert [p.name for p in card.inputs] == ["x"]
    assert card.parameters == 4


def test_sparse_weights() -> None:
    """Stored elements of sparse weights count."""
    values = numpy_helper.from_array(random((2,)), "w")
    indices = numpy_helper.from_array(np.array([1, 5], np.int64), "at")
    proto = model([node("MatMul", ["x", "w"], ["y"])], {"x": [1, 3], "w": [3, 2]}, ["y"])
    proto.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [3, 2]))
    card = described(proto)
    assert [p.name for p in card.inputs] == ["x"]
    assert card.parameters == 2


def test_what_is_in_nodes_counts() -> None:
    """Weights in Constant nodes and in branches, as Paddle's exporter and models of several sampling rates have them,
    and the operators of branches."""

    def branch(op: str) -> onnx.GraphProto:
        weight = numpy_helper.from_array(random((3, 2)))
        nodes = [node("Constant", [], ["w"], value=weight), node(op, ["x", "w"], ["z"], domain="com.example")]
        return helper.make_graph(nodes, "branch", [], [helper.make_empty_tensor_value_info("z")])

    nodes = [
        node("Constant", [], ["cond"], value=numpy_helper.from_array(np.array(True))),
        node("If", ["cond"], ["y"], then_branch=branch("Odd"), else_branch=branch("Even")),
    ]
    card = described(model(nodes, {"x": [1, 3]}, ["y"]))
    assert card.operators == {"Constant": 3, "If": 1, "com.example.Odd": 1, "com.example.Even": 1}
    assert {*card.unsupported} == {"com.example.Odd", "com.example.Even"}
    assert card.parameters == 13
    assert card.weights == {"float32": 48, "bool": 1}


def test_weights_of_which_only_the_sizes_are_here() -> None:
    """The file beside the model need not be."""
    proto = model([node("Add", ["x", "w"], ["y"])], {"x": [1]}, ["y"], {"w": random((30, 40)), "b": np.float32(2)})
    weight = proto.graph.initializer[0]
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    weight.external_data.append(onnx.StringStringEntryProto(key="location", value="missing.bin"))
    assert described(proto).parameters == 1201


@pytest.mark.parametrize(
    ("name", "version", "producer"), [("", "", ""), ("tf2onnx", "", "tf2onnx"), ("", "1.0", "1.0")]
)
def test_the_producer(name: str, version: str, producer: str) -> None:
    proto = relu([2])
    proto.producer_name, proto.producer_version = name, version
    assert described(proto).producer == producer


@pytest.mark.parametrize(
    ("domains", "opset"),
    [
        ({"com.microsoft": 99, "": 17}, 17),
        ({"ai.onnx": 13, "ai.onnx.ml": 21}, 13),
        ({"ai.onnx": 13, "": 17}, 17),
        ({"com.microsoft": 1}, 0),
        ({}, 0),
    ],
)
def test_opsets(domains: dict[str, int], opset: int) -> None:
    """ONNX's own counts."""
    proto = relu([2])
    del proto.opset_import[:]
    proto.opset_import.extend(helper.make_opsetid(domain, version) for domain, version in domains.items())
    assert described(proto).opset == opset


def test_an_empty_graph() -> None:
    proto = helper.make_model(helper.make_graph([], "none", [], []), opset_imports=[helper.make_opsetid("", 17)])
    assert described(proto) == ModelCard("the model", "", 17, {}, 0, (), ())


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("net.onnx", b"no protobuf at all", r"net\.onnx is not an ONNX model"),
        ("net.onnx", b"", r"net\.onnx is empty"),
        ("net.onnx", relu([2]).SerializeToString()[:-9], r"net\.onnx is truncated or damaged"),
        ("net.tflite", b"\x1c\0\0\0TFL3 rest", "is truncated or damaged: its 13 bytes are not a whole TFLite model"),
        ("net.txt", b"a text", r"net\.txt is not an ONNX, TFLite, Keras, .* or PyTorch model; give a file of ONNX"),
    ],
)
def test_what_is_no_model(name: str, data: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match=message):
        describe_model(tmp_path / name)


def test_a_file_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        describe_model(tmp_path / "none.onnx")


def test_words_about_the_model() -> None:
    proto = relu([1, 3])
    proto.producer_name = "torch"
    words = {"License": " MIT ", "description": "Finds\n  faces.", "Author": "A. B."}
    helper.set_model_props(proto, words)
    card = described(proto)
    assert dict(card.facts()) == {
        "Description": "Finds faces.",
        "Author": "A. B.",
        "Written by": "torch, opset 17",
        "Parameters": "0",
        "Operators": "1 in the file: 1 Relu",
    }
    proto.doc_string = "long " * 1000
    assert len(dict(described(proto).facts())["Description"]) == 600


def test_a_model_in_memory_is_left_as_it_is() -> None:
    proto = relu([2])
    proto.graph.node[0].domain = "ai.onnx"
    before = proto.SerializeToString()
    assert describe_model(proto).unsupported == ()
    assert proto.SerializeToString() == before
