"""Mutations of what a model declares: inputs, outputs, types, opsets, names."""

from __future__ import annotations

from random import Random

import onnx
from fuzz.edit_tensors import ODD_EXTENTS, Feeds
from onnx import TensorProto, helper

ELEMENT_TYPES = (0, 1, 2, 6, 7, 8, 9, 10, 11, 13, 14, 16, 17, 22, 99, -1)
ODD_NAMES = (
    "",
    " ",
    "x" * 3000,
    "a\nb",
    "a\0b",
    "</script>",
    "`${1}`",
    "é✓",
    "__proto__",
    "constructor",
    "../x",
    "\\",
    '"',
)


def _values(model: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    return [*model.graph.input, *model.graph.input, *model.graph.output, *model.graph.value_info]


def dimension(model: onnx.ModelProto, given: Feeds, draw: Random) -> None:
    value = draw.choice(_values(model))
    dims = value.type.tensor_type.shape.dim
    match draw.randrange(8):
        case 0:
            value.type.tensor_type.ClearField("shape")
        case 1:
            dims.add().dim_value = draw.choice(ODD_EXTENTS)
        case 2 if dims:
            del dims[draw.randrange(len(dims))]
        case 3 if dims:
            draw.choice(dims).dim_param = draw.choice(("N", "batch", *ODD_NAMES))
        case 4 if dims:
            draw.choice(dims).ClearField("dim_value")
        case _ if dims:
            chosen = draw.choice(dims)
            near = [max(0, chosen.dim_value + d) for d in (-1, 1, 2)]
            chosen.dim_value = draw.choice((*near, 2 * chosen.dim_value, *near, *ODD_EXTENTS))


def element_type(model: onnx.ModelProto, given: Feeds, draw: Random) -> None:
    draw.choice(_values(model)).type.tensor_type.elem_type = draw.choice(ELEMENT_TYPES)


def kind_of_type(model: onnx.ModelProto, given: Feeds, draw: Random) -> None:
    """Sequences, optionals, maps, sparse tensors, nothing."""
    value = draw.choice(_values(model))
    was = onnx.TypeProto()
    was.CopyFrom(value.type)
    value.ClearField("type")
    match draw.randrange(5):
        case 0:
            value.type.sequence_type.elem_type.CopyFrom(was)
        case 1:
            value.type.optional_type.elem_type.CopyFrom(was)
        case 2:
            value.type.map_type.key_type = TensorProto.INT64
            value.type.map_type.value_type.CopyFrom(was)
        case 3:
            value.type.sparse_tensor_type.elem_type = TensorProto.FLOAT
        case _:
            pass


def inner_type(model: onnx.ModelProto, given: Feeds, draw: Random) -> None:
    """A declared type of a value within, which may contradict the nodes."""
    names = [o for n in model.graph.node for o in n.output]
    if names:
        shape = draw.choices((1, 2, 3, *ODD_EXTENTS), k=draw.randrange(5))
        model.graph.value_info.append(helper.make_tensor_value_info(draw.choice(names), draw.choice((1, 7, 9)), shape))


def interface(model: onnx.ModelProto, given: Feeds, draw: Random) -> None:
    """Inputs and outputs that are repeated, removed, renamed, or other values."""
    held = draw.choice((model.graph.input, model.graph.output))
    if not held:
        return
    value = draw.choice(held)
    match draw.randrange(5):
        case 0:
            held.add().CopyFrom(value)
        case 1:
            held.remove(value)
        case 2:
            value.name = draw.choice(ODD_NAMES)
        case 3:
            made = [o for n in model.graph.node for o in n.output] + [t.name for t in model.graph.initializer]
            value.name = draw.choice([*made, *(v.name for v in model.graph.input)])
        case _:
            held.add().CopyFrom(draw.choice(_values(model)))


def rename_value(model: onnx.ModelProto, given: Feeds, draw: Random) -> None:
    """Everywhere, to a name that is odd or another's: the first leaves the model valid."""
    names = sorted({n for node in model.graph.node for n in (*node.input, *node.output)})
    if not names:
        return
    old, new = draw.choice(names), draw.choice((*ODD_NAMES, *names))
    for node in model.graph.node:
        node.input[:] = [new if n == old else n for n in node.input]
        node.output[:] = [new if n == old else n for n in node.output]
    for value in (*_values(model), *model.graph.initializer):
        value.name = new if value.name == old else value.name
    if old in given:
        given[new] = given.pop(old)


def opset(model: onnx.ModelProto, given: Feeds, draw: Random) -> None:
    match draw.randrange(6):
        case 0:
            del model.opset_import[:]
        case 1:
            model.opset_import.append(helper.make_opsetid(draw.choice(("", "ai.onnx", "com.microsoft", "é")), 13))
        case 2 if model.opset_import:
            model.opset_import[0].domain = draw.choice(("ai.onnx", "ai.onnx.ml", "x"))
        case _ if model.opset_import:
            odd = (0, 1, 6, *range(7, 27), 99, -1, 2**31, 2**62)
            model.opset_import[0].version = draw.choice(odd)


def header(model: onnx.ModelProto, given: Feeds, draw: Random) -> None:
    match draw.randrange(6):
        case 0:
            model.ir_version = draw.choice((0, 1, 3, 4, 8, 11, 13, 99, -1, 2**62))
        case 1:
            model.graph.name = draw.choice(ODD_NAMES)
        case 2:
            model.graph.doc_string = draw.choice(ODD_NAMES)
        case 3:
            model.metadata_props.add(key=draw.choice(ODD_NAMES), value=draw.choice(ODD_NAMES))
        case 4:
            model.training_info.add().algorithm.CopyFrom(model.graph)
        case _:
            model.ClearField(draw.choice(("graph", "ir_version", "opset_import", "producer_name")))


MUTATIONS = (
    *(dimension, dimension, dimension, dimension, element_type, kind_of_type, inner_type, interface),
    *(rename_value, opset, opset, header),
)
