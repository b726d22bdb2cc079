"""Checks that all names of a model are text: protobuf returns bytes for those that are not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import onnx

from ...errors import InputError
from .read_model import Source


def check_names(model: onnx.ModelProto, source: Source) -> None:
    """Raises InputError where a name that importing uses is not UTF-8."""
    for what, name in _names(model):
        if not isinstance(name, str):
            raise InputError(
                f"{source.name} is damaged: {what} has the name {name!r}, which is not UTF-8; export it again"
            )


_Named = tuple[str, object]
"""The kind of the named object, and the name."""


def _names(model: onnx.ModelProto) -> Iterator[_Named]:
    yield from (("an opset", i.domain) for i in model.opset_import)
    yield from _graph(model.graph)
    for function in model.functions:
        yield from (("a function", n) for n in (function.name, function.domain, function.overload))
        yield from (("a value", n) for n in (*function.input, *function.output))
        yield from (("an attribute", n) for n in function.attribute)
        yield from (("an opset", i.domain) for i in function.opset_import)
        yield from _attributes(function.attribute_proto)
        yield from _nodes(function.node)


def _graph(graph: onnx.GraphProto) -> Iterator[_Named]:
    yield "a graph", graph.name
    for value in (*graph.input, *graph.output):
        yield "a value", value.name
        yield from (("a dimension", d.dim_param) for d in value.type.tensor_type.shape.dim)
    for tensor in graph.initializer:
        yield from _tensor(tensor)
    for sparse in graph.sparse_initializer:
        yield from (*_tensor(sparse.values), *_tensor(sparse.indices))
    yield from _nodes(graph.node)


def _nodes(nodes: Iterable[onnx.NodeProto]) -> Iterator[_Named]:
    for node in nodes:
        yield from (("a node", n) for n in (node.name, node.op_type, node.domain, node.overload))
        yield from (("a value", n) for n in (*node.input, *node.output))
        yield from _attributes(node.attribute)


def _attributes(attributes: Iterable[onnx.AttributeProto]) -> Iterator[_Named]:
    for a in attributes:
        yield from (("an attribute", n) for n in (a.name, a.ref_attr_name))
        for tensor in (a.t, a.sparse_tensor.values, a.sparse_tensor.indices):
            yield from _tensor(tensor)
        for graph in (a.g, *a.graphs):
            yield from _graph(graph)


def _tensor(tensor: onnx.TensorProto) -> Iterator[_Named]:
    yield "a tensor", tensor.name
    for entry in tensor.external_data:
        yield from (("external data", text) for text in (entry.key, entry.value))
