"""Labels that are strings, which no target has, by their places; scores that ZipMap maps to labels, as the matrix that
they come from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ...graph.ir import OutputLabels
from .number_encoders import DOMAIN, as_encoders, is_text, number_encoder, strings_of, texts_of

_STRINGS = "classlabels_strings"
_NUMBERS = {
    **dict.fromkeys(("LinearClassifier", "SVMClassifier"), "classlabels_ints"),
    "TreeEnsembleClassifier": "classlabels_int64s",
}
"""By classifier the attribute with labels that are numbers."""


def number_labels(model: onnx.ModelProto) -> tuple[onnx.ModelProto, dict[str, OutputLabels]]:
    """The model with the places of labels in place of the labels, and these by output; the model itself where it has no
    operator of ai.onnx.ml. All nodes have the same places, so that the labels of one may be keys of another."""
    if not any(node.domain == DOMAIN for node in model.graph.node):
        return model, {}
    numbered = onnx.ModelProto()
    numbered.CopyFrom(model)
    as_encoders(numbered)
    graph = numbered.graph
    found = _skip_maps(graph)
    given = texts_of(graph, (v.name for v in graph.input if is_text(v)))
    nodes = [n for n in graph.node if n.domain == DOMAIN]
    attributes = [(n, a) for n in nodes if n.op_type in _NUMBERS for a in n.attribute if a.name == _STRINGS]
    encoders = [n for n in nodes if n.op_type == "LabelEncoder" and n.input[0] not in given]
    tables = [t for t in graph.initializer if _is_label_table(t, graph)]
    lists = [*(a.strings for _, a in attributes), *(t.string_data for t in tables), *map(strings_of, encoders)]
    place = {label: i for i, label in enumerate(dict.fromkeys(label for strings in lists for label in strings))}
    if not place:
        return numbered, found
    for node, attribute in attributes:
        numbers = [place[s] for s in attribute.strings]
        node.attribute.remove(attribute)
        node.attribute.append(helper.make_attribute(_NUMBERS[node.op_type], numbers))
    for node in encoders:
        number_encoder(node, place)
    for table in tables:
        places = np.asarray([place[s] for s in table.string_data], np.int64)
        table.CopyFrom(numpy_helper.from_array(places.reshape(tuple(table.dims)), table.name))
    strings = [v for v in graph.output if is_text(v) and v.name not in given]
    for value in (*strings, *(v for v in graph.value_info if v.name not in given)):
        if is_text(value):
            value.type.tensor_type.elem_type = onnx.TensorProto.INT64
    labels = tuple(map(_text, place))
    return numbered, found | {v.name: OutputLabels(labels, scores=False) for v in strings}


def _text(label: bytes) -> str:
    return label.decode(errors="replace")


def numbered_file(model: Path | bytes) -> Path | bytes:
    """A model as `number_labels` has it; what was given where nothing changes."""
    proto = (
        onnx.load_model_from_string(model) if isinstance(model, bytes) else onnx.load(model, load_external_data=False)
    )
    numbered, _ = number_labels(proto)
    if numbered is proto:
        return model
    if isinstance(model, Path):
        onnx.load_external_data_for_model(numbered, str(model.parent))
    return bytes(numbered.SerializeToString())


def _skip_maps(graph: onnx.GraphProto) -> dict[str, OutputLabels]:
    """Makes each ZipMap pass its scores on. Returns the labels of those that are outputs."""
    labels: dict[str, OutputLabels] = {}
    for node in graph.node:
        if node.domain == DOMAIN and node.op_type == "ZipMap" and node.output:
            given = {a.name: a for a in node.attribute}
            names = given["classlabels_strings"].strings if "classlabels_strings" in given else ()
            numbers = given["classlabels_int64s"].ints if "classlabels_int64s" in given else ()
            labels[node.output[0]] = OutputLabels(tuple(map(_text, names)) or tuple(numbers), scores=True)
            node.op_type, node.domain = "Identity", ""
            del node.attribute[:]
    maps = [v for v in graph.output if v.name in labels]
    for value in maps:
        value.CopyFrom(helper.make_tensor_value_info(value.name, onnx.TensorProto.FLOAT, None))
    return {v.name: labels[v.name] for v in maps}


def _is_label_table(tensor: onnx.TensorProto, graph: onnx.GraphProto) -> bool:
    """Whether a tensor has strings of which ArrayFeatureExtractor alone takes some."""
    if tensor.data_type != onnx.TensorProto.STRING:
        return False
    readers = [(node, i) for node in graph.node for i, name in enumerate(node.input) if name == tensor.name]
    takers = [n.domain == DOMAIN and n.op_type == "ArrayFeatureExtractor" and i == 0 for n, i in readers]
    return bool(takers) and all(takers)
