"""Describes an ONNX file, before any shape is chosen."""

from __future__ import annotations

from collections import Counter
from math import prod
from pathlib import Path

import onnx

from ..model_card import ModelCard, Port
from .fix_shapes import declared_shape
from .read_model import read_model
from .read_tensor import type_name

_NUMPY = {"float": "float32", "double": "float64"}
"""ONNX's names that NumPy and JavaScript do not use."""

_LICENCE = ("license", "licence")
"""Keys of metadata."""


def describe(model: str | Path | bytes | onnx.ModelProto) -> ModelCard:
    """Raises InputError for what is no ONNX model."""
    proto, source = read_model(model)
    tensors = [*proto.graph.initializer, *(t.values for t in proto.graph.sparse_initializer)]
    weights = {t.name for t in tensors}
    opset = max((o.version for o in proto.opset_import if o.domain in ("", "ai.onnx")), default=0)
    return ModelCard(
        name=source.name,
        producer=f"{proto.producer_name} {proto.producer_version}".strip(),
        opset=opset,
        operators=dict(Counter(n.op_type for n in proto.graph.node).most_common()),
        parameters=sum(prod(t.dims) for t in tensors),
        inputs=tuple(_port(v) for v in proto.graph.input if v.name not in weights),
        outputs=tuple(_port(v) for v in proto.graph.output),
        licence=_said(proto, *_LICENCE),
        description=proto.doc_string.strip() or _said(proto, "description"),
        author=_said(proto, "author"),
    )


def _said(proto: onnx.ModelProto, *keys: str) -> str:
    """The first of the file's metadata with one of these keys."""
    return next((p.value.strip() for p in proto.metadata_props if p.key.lower() in keys), "")


def _port(value: onnx.ValueInfoProto) -> Port:
    if not value.type.HasField("tensor_type"):
        return Port(value.name, value.type.WhichOneof("value") or "no type", None)
    tensor = value.type.tensor_type
    shape = declared_shape(tensor)
    dtype = type_name(tensor.elem_type)
    return Port(value.name, _NUMPY.get(dtype, dtype), None if shape is None else tuple(shape))
