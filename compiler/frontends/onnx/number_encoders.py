"""LabelEncoder and CategoryMapper of ai.onnx.ml between strings of the model's own and numbers, with places of strings
in place of the strings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

DOMAIN = "ai.onnx.ml"
_OF_CLASSES = 1
"""The opset of ai.onnx.ml whose LabelEncoder has `classes_strings`."""

_MOVEMENT = ("Concat", "Gather", "Identity", "Reshape", "Slice", "Split", "Squeeze", "Transpose", "Unsqueeze")
"""Operators of ai.onnx whose results are elements of their operands."""

_UNUSED = b"_Unused"
"""The default of `default_string`."""


def as_encoders(model: onnx.ModelProto) -> None:
    """Makes each CategoryMapper a LabelEncoder of version 2 or later, in place, but for those of strings that are an
    input of the model. Where this has a LabelEncoder of version 1, all stay as they are."""
    given = [v.name for v in model.graph.input if is_text(v)]
    nodes = [n for n in model.graph.node if n.domain == DOMAIN]
    texts = texts_of(model.graph, given)
    mappers = [n for n in nodes if n.op_type == "CategoryMapper" and n.input[0] not in texts]
    imports = [o for o in model.opset_import if o.domain == DOMAIN]
    is_old = any(o.version <= _OF_CLASSES for o in imports)
    if not mappers or (is_old and any(n.op_type == "LabelEncoder" for n in nodes)):
        return
    for opset in imports:
        opset.version = max(opset.version, _OF_CLASSES + 1)
    texts = texts_of(model.graph, given, own=True)
    for node in mappers:
        stated = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        strings, numbers = stated.get("cats_strings", []), stated.get("cats_int64s", [])
        if node.input[0] in texts:
            default = stated.get("default_int64", -1)
            attributes = {"keys_strings": strings, "values_int64s": numbers, "default_int64": default}
        else:
            default = stated.get("default_string", _UNUSED)
            attributes = {"keys_int64s": numbers, "values_strings": strings, "default_string": default}
        node.op_type = "LabelEncoder"
        del node.attribute[:]
        node.attribute.extend(helper.make_attribute(n, v) for n, v in attributes.items() if v != [])


def is_text(value: onnx.ValueInfoProto) -> bool:
    return bool(value.type.tensor_type.elem_type == TensorProto.STRING)


def texts_of(graph: onnx.GraphProto, names: Iterable[str], own: bool = False) -> set[str]:
    """Values whose elements are those of the values `names`; with `own` also those whose strings the model has."""
    found = set(names)
    if own:
        found |= {t.name for t in graph.initializer if t.data_type == TensorProto.STRING}
    for node in graph.node:
        first = bool(node.input) and node.input[0] in found
        if node.domain == DOMAIN:
            moves = node.op_type == "ArrayFeatureExtractor"
            gives = _gives_strings(node) or (node.op_type == "CategoryMapper" and not first)
            if (first and moves) or (own and gives):
                found.add(node.output[0])
        elif node.op_type in _MOVEMENT and found.intersection(node.input):
            found.update(node.output)
    return found


def _gives_strings(node: onnx.NodeProto) -> bool:
    """Whether the first result of a classifier or a LabelEncoder is of strings."""
    if node.op_type == "LabelEncoder":
        return bool(_strings(node, "values"))
    return any(a.name == "classlabels_strings" and a.strings for a in node.attribute)


def strings_of(node: onnx.NodeProto) -> list[bytes]:
    """The strings of a LabelEncoder: keys, values, and what stands for values without a key."""
    values = _strings(node, "values")
    return [*_strings(node, "keys"), *values, *([_default(node)] if values else [])]


def _strings(node: onnx.NodeProto, side: str) -> list[bytes]:
    for a in node.attribute:
        if a.name == f"{side}_strings" and a.strings:
            return list(a.strings)
        if a.name == f"{side}_tensor" and a.t.data_type == TensorProto.STRING:
            return list(a.t.string_data)
    return []


def _default(node: onnx.NodeProto) -> bytes:
    for a in node.attribute:
        if a.name == "default_tensor" and a.t.string_data:
            return bytes(a.t.string_data[0])
        if a.name == "default_string":
            return bytes(a.s)
    return _UNUSED


def number_encoder(node: onnx.NodeProto, place: Mapping[bytes, int]) -> None:
    """Replaces the strings of a LabelEncoder by their places."""
    replaced = {side: [place[s] for s in strings] for side in ("keys", "values") if (strings := _strings(node, side))}
    dropped = {f"{side}_{form}" for side in replaced for form in ("strings", "tensor")}
    of_tensors = any(a.name.endswith("_tensor") for a in node.attribute)
    if "values" in replaced:
        replaced["default"] = [place[_default(node)]]
        dropped |= {"default_string", "default_tensor"}
    kept = [a for a in node.attribute if a.name not in dropped]
    for side, places in replaced.items():
        if of_tensors:
            tensor = numpy_helper.from_array(np.asarray(places, np.int64), side)
            kept.append(helper.make_attribute(f"{side}_tensor", tensor))
        elif side == "default":
            kept.append(helper.make_attribute("default_int64", places[0]))
        else:
            kept.append(helper.make_attribute(f"{side}_int64s", places))
    del node.attribute[:]
    node.attribute.extend(kept)
