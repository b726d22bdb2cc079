"""Labels that are strings, which no target has, by their places; scores that ZipMap maps to labels, as the matrix that
they come from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ...graph.ir import OutputLabels

DOMAIN = "ai.onnx.ml"
_STRINGS = "classlabels_strings"
_NUMBERS = {
    **dict.fromkeys(("LinearClassifier", "SVMClassifier"), "classlabels_ints"),
    "TreeEnsembleClassifier": "classlabels_int64s",
}
"""By classifier the attribute with labels that are numbers."""


def number_labels(model: onnx.ModelProto) -> tuple[onnx.ModelProto, dict[str, OutputLabels]]:
    """The model with the places of labels in place of the labels, and these by output; the model itself where it has no
    operator of ai.onnx.ml. Labels stay where those of two nodes differ."""
    if not any(node.domain == DOMAIN for node in model.graph.node):
        return model, {}
    numbered = onnx.ModelProto()
    numbered.CopyFrom(model)
    found = _skip_maps(numbered.graph)
    classifiers = [n for n in numbered.graph.node if n.domain == DOMAIN and n.op_type in _NUMBERS]
    attributes = [(n, a) for n in classifiers for a in n.attribute if a.name == _STRINGS and a.strings]
    tables = [t for t in numbered.graph.initializer if _is_label_table(t, numbered.graph)]
    lists = [a.strings for _, a in attributes] + [t.string_data for t in tables]
    every = {tuple(dict.fromkeys(map(_text, strings))) for strings in lists}
    if len(every) != 1:
        return numbered, found
    (labels,) = every
    place = {label: i for i, label in enumerate(labels)}
    for node, attribute in attributes:
        numbers = [place[_text(s)] for s in attribute.strings]
        node.attribute.remove(attribute)
        node.attribute.append(helper.make_attribute(_NUMBERS[node.op_type], numbers))
    for table in tables:
        places = np.asarray([place[_text(s)] for s in table.string_data], np.int64)
        table.CopyFrom(numpy_helper.from_array(places.reshape(tuple(table.dims)), table.name))
    strings = [v for v in numbered.graph.output if v.type.tensor_type.elem_type == onnx.TensorProto.STRING]
    for value in (*strings, *numbered.graph.value_info):
        if value.type.tensor_type.elem_type == onnx.TensorProto.STRING:
            value.type.tensor_type.elem_type = onnx.TensorProto.INT64
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
