"""One error names all that is not supported."""

from __future__ import annotations

from typing import Any

import pytest
from onnx import AttributeProto, TensorProto, helper
from onnx_models import model, node, random
from webnn_compile.errors import InputError, UnsupportedError
from webnn_compile.frontends.onnx import import_model
from webnn_compile.frontends.onnx.handlers import is_supported
from webnn_compile.frontends.onnx.problems import Problems
from webnn_compile.ops import OPERATORS


def message(*args: object, **kwargs: object) -> str:
    with pytest.raises(UnsupportedError) as caught:
        import_model(model(*args, **kwargs))  # type: ignore[arg-type]
    return str(caught.value)


@pytest.fixture(autouse=True)
def _without_nonzero(monkeypatch: pytest.MonkeyPatch) -> None:
    # An operator that ONNX knows and this compiler, for the time of the test, does not.
    monkeypatch.delitem(OPERATORS, ("", "Erf"), raising=False)
    monkeypatch.delitem(OPERATORS, ("", "Elu"), raising=False)


def test_every_kind_with_counts_names_and_attributes() -> None:
    nodes = [node("Elu", ["x"], ["e1"], "elu1", alpha=0.5), node("Elu", ["e1"], ["e2"], "elu2", alpha=2.0)]
    nodes += [node("Elu", ["e2"], [f"e{i + 3}"]) for i in range(3)]
    nodes += [node("Erf", ["e2"], ["f"], "erf"), node("Relu", ["f"], ["r"])]
    nodes += [node("FusedThing", ["r"], ["y"], "fused", domain="com.example", mode="fast", sizes=[1, 2, 3, 4])]
    text = message(nodes, {"x": [2]}, ["y"], imports=[helper.make_opsetid("com.example", 1)])
    lines = text.splitlines()
    assert lines[0] == "test (opset 17) needs what is not supported, 3 in all:"
    assert lines[1] == "  Elu: 5 nodes 'elu1', 'elu2', 'e3', ...; alpha=0.5 or 2"
    assert lines[2] == "  Erf: 1 node 'erf'"
    assert lines[3] == "  com.example.FusedThing: 1 node 'fused'; mode='fast'; sizes=[1, 2, 3, ...]"
    assert lines[4] == (
        "Replace or remove these in the model, or export it in another way; define operators of other domains in a "
        'file for --ops (in Python, operators=["FILE.py"]).'
    )


def test_operator_unknown_to_the_opset() -> None:
    nodes = [node("Gelu", ["x"], ["g"], "gelu"), node("NoSuchThing", ["g"], ["y"], "thing")]
    text = message(nodes, {"x": [2]}, ["y"])
    assert "Gelu (no operator of opset 17): 1 node 'gelu'" in text
    assert "NoSuchThing (no operator of opset 17): 1 node 'thing'" in text


def test_reasons_of_definitions_are_all_collected() -> None:
    nodes = [
        node("Resize", ["x", "", "", "sizes"], ["a"], "up", mode="cubic", antialias=1),
        node("Erf", ["a"], ["b"], "erf"),
        node("Reshape", ["b", "to"], ["y"], "flat"),
    ]
    proto = model(nodes, {"x": [1, 1, 4, 4]}, ["y"], {"sizes": random((4,)).astype("int64") * 0 + 8}, opset=18)
    proto.graph.input.append(helper.make_tensor_value_info("to", TensorProto.INT64, [1]))
    with pytest.raises(UnsupportedError) as caught:
        import_model(proto)
    text = str(caught.value)
    assert "Erf: 1 node 'erf'" in text
    # Reshape is reached although Erf, before it, has no definition.
    assert "Reshape (node 'flat'): its input 'shape' is computed at run time" in text


def test_shapes_behind_an_unsupported_node_raise_no_false_alarm() -> None:
    nodes = [
        node("Cast", ["x"], ["i"], to=TensorProto.INT64),
        node("BitCount", ["i"], ["to"], "bits", domain="com.example"),
        node("Reshape", ["x", "to"], ["y"], "flat"),
    ]
    text = message(nodes, {"x": [2]}, ["y"], imports=[helper.make_opsetid("com.example", 1)])
    assert "com.example.BitCount" in text
    assert "flat" not in text


def test_free_dimensions_are_asked_for_only_if_that_can_help() -> None:
    assert "Erf: 1 node 'erf'" in message([node("Erf", ["x"], ["y"], "erf")], {"x": ["N"]}, ["y"])


def test_input_of_unsupported_dtype() -> None:
    text = message([node("Identity", ["x"], ["y"])], {"x": [2]}, ["y"], dtype=TensorProto.STRING)
    assert "input 'x' has elements of type string" in text


@pytest.mark.parametrize("dtype", [TensorProto.COMPLEX64, TensorProto.COMPLEX128])
def test_unsupported_dtypes_are_named(dtype: int) -> None:
    text = message([node("Identity", ["x"], ["y"])], {"x": [2]}, ["y"], dtype=dtype, opset=21)
    assert f"input 'x' has elements of type {TensorProto.DataType.Name(dtype).lower()}" in text


def test_weight_of_unsupported_dtype() -> None:
    nodes = [node("Shape", ["w"], ["s"]), node("Cast", ["s"], ["c"], to=1), node("Add", ["x", "c"], ["y"])]
    proto = model(nodes, {"x": [2]}, ["y"], opset=21)
    proto.graph.initializer.append(helper.make_tensor("w", TensorProto.COMPLEX64, [2], [1.0, 2.0]))
    with pytest.raises(UnsupportedError, match="tensor 'w' has elements of type complex64"):
        import_model(proto)


def test_an_unused_weight_of_unsupported_dtype_does_no_harm() -> None:
    proto = model([node("Relu", ["x"], ["y"])], {"x": [2]}, ["y"], opset=21)
    proto.graph.initializer.append(helper.make_tensor("w", TensorProto.COMPLEX64, [2], [1.0, 2.0]))
    assert len(import_model(proto).nodes) == 1


def test_sequence_input() -> None:
    proto = model([node("SequenceAt", ["s", "i"], ["y"], "at")], {}, ["y"])
    proto.graph.input.append(helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None))
    proto.graph.input.append(helper.make_tensor_value_info("i", TensorProto.INT64, []))
    with pytest.raises(InputError, match=r"input 's' is a sequence, of float; say how many tensors it has: --dim s=2"):
        import_model(proto)
    proto.graph.input[0].type.sequence_type.elem_type.tensor_type.elem_type = TensorProto.STRING
    with pytest.raises(UnsupportedError, match="input 's' is a sequence"):
        import_model(proto)


def test_an_attribute_that_is_a_graph() -> None:
    body = helper.make_graph(
        [node("Identity", ["go"], ["again"]), node("Neg", ["v"], ["w"])],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("v", TensorProto.FLOAT, [2]),
        ],
        [
            helper.make_tensor_value_info("again", TensorProto.BOOL, []),
            helper.make_tensor_value_info("w", TensorProto.FLOAT, [2]),
        ],
    )
    nodes = [node("Repeat", ["x"], ["y"], "repeat", domain="com.example", body=body)]
    text = message(nodes, {"x": [2]}, ["y"], imports=[helper.make_opsetid("com.example", 1)])
    assert "com.example.Repeat: 1 node 'repeat'; body=a graph of 2 nodes" in text


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (7, "7"),
        (0.5, "0.5"),
        ("word", "'word'"),
        ([1, 2, 3, 4], "[1, 2, 3, ...]"),
        ([0.5, 2.0], "[0.5, 2]"),
        (["a", "b"], "['a', 'b']"),
        (helper.make_tensor("t", TensorProto.FLOAT, [2, 3], [0] * 6), "a tensor [2, 3]"),
        (AttributeProto(name="a", type=AttributeProto.TYPE_PROTO), "a type_proto"),
    ],
)
def test_attributes_are_shown(value: Any, shown: str) -> None:
    thing = node("Thing", ["x"], ["y"], "thing", domain="com.example")
    thing.attribute.append(value if isinstance(value, AttributeProto) else helper.make_attribute("a", value))
    text = message([thing], {"x": [2]}, ["y"], imports=[helper.make_opsetid("com.example", 1)])
    assert f"com.example.Thing: 1 node 'thing'; a={shown}\n" in text


def test_text_constant() -> None:
    text = message(
        [node("Constant", [], ["c"], "words", value_string="hi"), node("Relu", ["x"], ["y"])], {"x": [2]}, ["y"]
    )
    assert "Constant (node 'words'): it holds text (value_string); remove text from the model" in text


@pytest.mark.parametrize(
    ("op", "domain", "advice"),
    [
        ("Conv", "com.microsoft.nchwc", "; onnxruntime's optimiser wrote it: take the model from before it"),
        ("QOrderedMatMul", "com.microsoft", "; quantize in the form of QuantizeLinear and DequantizeLinear"),
        ("BeamSearch", "com.microsoft", "; it calls a decoder again and again: compile the decoder's own model"),
        (
            "SparseAttention",
            "com.microsoft",
            "or its model builder wrote it: export the network with torch.onnx.export alone",
        ),
    ],
)
def test_which_export_has_no_such_operator(op: str, domain: str, advice: str) -> None:
    problems = Problems("net.onnx", 17, is_supported)
    assert not problems.check_kind(node(op, ["x"], ["y"], "made", domain=domain))
    with pytest.raises(UnsupportedError) as caught:
        problems.raise_if_any()
    assert f"{op}: 1 node 'made'; " in str(caught.value)
    assert advice in str(caught.value)
