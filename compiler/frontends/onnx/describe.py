"""Describes an ONNX file, before any shape is chosen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from math import prod
from pathlib import Path

import onnx

from ...custom.table import NO_OPERATORS, CustomOperators
from ...dtypes import F32, STORAGE_TYPES
from ...ops.call import operator_name
from ..model_card import ModelCard, Port
from .check_model import all_nodes
from .check_names import check_names
from .fix_shapes import declared_shape
from .handlers import is_supported
from .read_model import read_model
from .read_tensor import element_type, type_name

_NUMPY = {"float": "float32", "double": "float64"}
"""ONNX's names that NumPy and JavaScript do not use."""

_LICENCE = ("license", "licence")
"""Keys of metadata."""


def describe(model: str | Path | bytes | onnx.ModelProto, custom: CustomOperators = NO_OPERATORS) -> ModelCard:
    """Describes a file, of which the user defines the operators of `custom`. Raises InputError for what is no ONNX
    model, and for names that are no text."""
    proto, source = read_model(model)
    check_names(proto, source)
    nodes, tensors = list(all_nodes(proto.graph.node)), list(_constants(proto.graph))
    weights = {*(t.name for t in proto.graph.initializer), *(t.values.name for t in proto.graph.sparse_initializer)}
    opset = max((o.version for o in proto.opset_import if o.domain in ("", "ai.onnx")), default=0)
    return ModelCard(
        name=source.name,
        producer=f"{_text(proto.producer_name)} {_text(proto.producer_version)}".strip(),
        opset=opset,
        operators=dict(Counter(map(_name, nodes)).most_common()),
        parameters=sum(prod(t.dims) for t in tensors),
        inputs=tuple(_port(v) for v in proto.graph.input if v.name not in weights),
        outputs=tuple(_port(v) for v in proto.graph.output),
        licence=_said(proto, *_LICENCE),
        description=_text(proto.doc_string).strip() or _said(proto, "description"),
        author=_said(proto, "author"),
        weights=_weights(tensors),
        unsupported=_unsupported(proto, nodes, custom),
    )


def _constants(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    """Initializers, and the tensors of Constant nodes, of the graph and of its subgraphs at any depth."""
    yield from graph.initializer
    yield from (t.values for t in graph.sparse_initializer)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _constants(attribute.g)
            elif node.op_type == "Constant" and attribute.HasField("t"):
                yield attribute.t
            elif node.op_type == "Constant" and attribute.HasField("sparse_tensor"):
                yield attribute.sparse_tensor.values


def _weights(tensors: Iterable[onnx.TensorProto]) -> dict[str, int]:
    """Bytes by the type of elements, most first."""
    found: Counter[str] = Counter()
    for t in tensors:
        stored = STORAGE_TYPES.get(t.data_type)
        bits = stored.bits if stored is not None else 8 * (element_type(t.data_type) or F32).bytes
        found[_shown(t.data_type)] += prod(t.dims) * bits // 8
    return dict(found.most_common())


def _unsupported(proto: onnx.ModelProto, nodes: Iterable[onnx.NodeProto], custom: CustomOperators) -> tuple[str, ...]:
    """The operators of `nodes` that are neither taken nor functions of the model."""
    functions = {(f.domain, f.name) for f in proto.functions}
    others = (n for n in nodes if (n.domain, n.op_type) not in functions)
    return tuple(dict.fromkeys(_name(n) for n in others if not is_supported(_kind(n), custom)))


def _name(node: onnx.NodeProto) -> str:
    """The name of its operator, with a domain that is not ONNX's."""
    return operator_name(_kind(node).domain, node.op_type)


def _kind(node: onnx.NodeProto) -> onnx.NodeProto:
    """A node of the same operator; the domain of ai.onnx is empty."""
    return onnx.NodeProto(op_type=node.op_type, domain="" if node.domain == "ai.onnx" else node.domain)


def _said(proto: onnx.ModelProto, *keys: str) -> str:
    """The first of the file's metadata with one of these keys."""
    return next((_text(p.value).strip() for p in proto.metadata_props if p.key.lower() in keys), "")


def _text(value: str | bytes) -> str:
    """Protobuf returns bytes for what is not UTF-8."""
    return value if isinstance(value, str) else value.decode(errors="replace")


def _shown(code: int) -> str:
    """The name of a type of elements."""
    name = type_name(code)
    return _NUMPY.get(name, name)


def _port(value: onnx.ValueInfoProto) -> Port:
    if not value.type.HasField("tensor_type"):
        return Port(value.name, value.type.WhichOneof("value") or "no type", None)
    tensor = value.type.tensor_type
    shape = declared_shape(tensor)
    return Port(value.name, _shown(tensor.elem_type), None if shape is None else tuple(shape))
