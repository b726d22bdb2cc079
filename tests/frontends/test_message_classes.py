"""Classes of protobuf messages made from the text of a schema."""

from __future__ import annotations

import onnx
import pytest
from google.protobuf import text_format
from webnn_compile.frontends.message_classes import message_classes

SCHEMA = """
message Tree { // a comment; with = signs
  string name = 1; repeated Tree children = 2; map<string, Leaf> leaves = 3;
  Kind kind = 4 [default = PLAIN]; optional float weight = 5 [default = -1.5]; repeated int64 sizes = 6;
}
enum Kind { PLAIN = 0; FANCY = 7; }
message Leaf { bytes data = 1; bool wet = 2; }
"""


def test_messages_are_written_and_read():
    classes = message_classes("trees", SCHEMA)
    tree = classes["Tree"](name="a", kind=7, sizes=[1, -2])
    tree.children.add(name="b").leaves["c"].data = b"\xff"
    again = classes["Tree"].FromString(tree.SerializeToString())
    assert again == tree
    assert again.children[0].leaves["c"].data == b"\xff"
    assert again.weight == -1.5
    assert not again.HasField("weight")


def test_text_has_names_of_enums():
    tree = text_format.Parse('name: "x" kind: FANCY children { weight: 2 }', message_classes("trees", SCHEMA)["Tree"]())
    assert (tree.kind, tree.children[0].kind, tree.children[0].weight) == (7, 0, 2.0)


def test_fields_that_are_not_declared_are_passed_over():
    model = onnx.helper.make_model(onnx.helper.make_graph([], "g", [], []), producer_name="me", ir_version=8)
    few = message_classes("few", "message Model { string producer_name = 2; }")["Model"]
    assert few.FromString(model.SerializeToString()).producer_name == "me"


def test_one_name_in_two_schemas():
    first = message_classes("first", "message M { int32 a = 1; }")["M"]
    second = message_classes("second", "message M { int64 b = 1; }")["M"]
    assert second.FromString(first(a=5).SerializeToString()).b == 5


@pytest.mark.parametrize("schema", ["massage M {}", "message M { string name 1; }", "message M { string name = 1"])
def test_no_schema(schema):
    with pytest.raises(ValueError, match="expected"):
        message_classes("bad", schema)
