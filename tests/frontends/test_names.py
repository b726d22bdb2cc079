"""Names that are not text, wherever a model has them."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto, helper
from onnx_models import model, node, random
from webnn_compile.errors import InputError
from webnn_compile.frontends.model_inputs import ModelInputs
from webnn_compile.frontends.onnx import import_model


def named() -> onnx.ModelProto:
    """A model in which every name is a word of its own."""
    inner = helper.make_graph(
        [node("Neg", ["INPUT"], ["INNER"], "INNERNODE")],
        "BRANCH",
        [],
        [helper.make_tensor_value_info("INNER", TensorProto.FLOAT, [2])],
    )
    body = [node("LeakyRelu", ["PARAMETER"], ["RESULT"], "BODYNODE")]
    made = helper.make_function("DOMAIN", "FUNCTION", ["PARAMETER"], ["RESULT"], body, [helper.make_opsetid("", 17)])
    nodes = [
        node("Add", ["INPUT", "WEIGHT"], ["MIDDLE"], "NODE"),
        node("Constant", [], ["CONDITION"], value=helper.make_tensor("TENSOR", TensorProto.BOOL, [], [True])),
        node("If", ["CONDITION"], ["CHOSEN"], then_branch=inner, else_branch=inner),
        node("FUNCTION", ["MIDDLE"], ["CALLED"], domain="DOMAIN"),
        node("Sum", ["CHOSEN", "CALLED"], ["OUTPUT"]),
    ]
    proto = model(
        nodes,
        {"INPUT": ["DIMENSION"]},
        ["OUTPUT"],
        {"WEIGHT": random((2,))},
        functions=[made],
        imports=[helper.make_opsetid("DOMAIN", 1)],
    )
    proto.graph.name = "GRAPH"
    return proto


NODES = ["NODE", "CONDITION", "MIDDLE", "CHOSEN", "CALLED", "OUTPUT", "then_branch", "TENSOR"]
INNER = ["INNER", "INNERNODE", "BRANCH", "PARAMETER", "RESULT", "BODYNODE", "FUNCTION", "DOMAIN"]
NAMES = ["INPUT", "WEIGHT", "DIMENSION", "GRAPH", *NODES, *INNER]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_is_not_text(name: str) -> None:
    data = named().SerializeToString()
    assert len(import_model(data, ModelInputs({"INPUT": (2,)})).nodes) == 4
    broken = data.replace(name.encode(), b"\xff" * len(name))
    assert broken != data
    with pytest.raises(
        InputError, match=r"is damaged: an? .* has the name b'\\xff.*', which is not UTF-8; export it again"
    ):
        import_model(broken, ModelInputs({"INPUT": (2,)}))


def test_a_shape_for_a_name_that_no_text_has() -> None:
    with pytest.raises(InputError, match=r"a shape is given for '\\ud800', which is no input of the model"):
        import_model(named(), ModelInputs({"\ud800": (2,)}))
