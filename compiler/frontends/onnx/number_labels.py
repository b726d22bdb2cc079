"""Labels that are strings, which no target has, by their numbers; scores that ZipMap would give as dictionaries, as the
matrix that they come from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

DOMAIN = "ai.onnx.ml"
_STRINGS = "classlabels_strings"
_NUMBERS = {
    **dict.fromkeys(("LinearClassifier", "SVMClassifier"), "classlabels_ints"),
    "TreeEnsembleClassifier": "classlabels_int64s",
}
"""By classifier the attribute with labels that are numbers."""


def number_labels(model: onnx.ModelProto) -> tuple[onnx.ModelProto, tuple[str, ...]]:
    """The model with the places of labels in place of the labels, and these in order; the model itself where it has no
    operator of ai.onnx.ml. Labels stay where those of two nodes differ."""
    if not any(node.domain == DOMAIN for node in model.graph.node):
        return model, ()
    numbered = onnx.ModelProto()
    numbered.CopyFrom(model)
    _skip_maps(numbered.graph)
    classifiers = [n for n in numbered.graph.node if n.domain == DOMAIN and n.op_type in _NUMBERS]
    attributes = [(n, a) for n in classifiers for a in n.attribute if a.name == _STRINGS and a.strings]
    tables = [t for t in numbered.graph.initializer if _is_label_table(t, numbered.graph)]
    lists = [a.strings for _, a in attributes] + [t.string_data for t in tables]
    every = {tuple(dict.fromkeys(s.decode(errors="replace") for s in strings)) for strings in lists}
    if len(every) > 1:
        return numbered, ()
    labels = next(iter(every), ())
    place = {label: i for i, label in enumerate(labels)}
    for node, attribute in attributes:
        numbers = [place[s.decode(errors="replace")] for s in attribute.strings]
        node.attribute.remove(attribute)
        node.attribute.append(helper.make_attribute(_NUMBERS[node.op_type], numbers))
    for table in tables:
        places = np.asarray([place[s.decode(errors="replace")] for s in table.string_data], np.int64)
        table.CopyFrom(numpy_helper.from_array(places.reshape(tuple(table.dims)), table.name))
    if labels:
        for value in (*numbered.graph.output, *numbered.graph.value_info):
            if value.type.tensor_type.elem_type == onnx.TensorProto.STRING:
                value.type.tensor_type.elem_type = onnx.TensorProto.INT64
    return numbered, labels


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


def _skip_maps(graph: onnx.GraphProto) -> None:
    """Makes each ZipMap pass its scores on."""
    maps = {o for node in graph.node if node.domain == DOMAIN and node.op_type == "ZipMap" for o in node.output}
    for node in graph.node:
        if node.output and node.output[0] in maps:
            node.op_type, node.domain = "Identity", ""
            del node.attribute[:]
    for value in graph.output:
        if value.name in maps:
            value.CopyFrom(helper.make_tensor_value_info(value.name, onnx.TensorProto.FLOAT, None))


def _is_label_table(tensor: onnx.TensorProto, graph: onnx.GraphProto) -> bool:
    """Whether a tensor has strings of which ArrayFeatureExtractor alone takes some."""
    if tensor.data_type != onnx.TensorProto.STRING:
        return False
    readers = [(node, i) for node in graph.node for i, name in enumerate(node.input) if name == tensor.name]
    takers = [n.domain == DOMAIN and n.op_type == "ArrayFeatureExtractor" and i == 0 for n, i in readers]
    return bool(takers) and all(takers)
