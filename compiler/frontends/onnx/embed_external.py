"""Reads into a model the external data of tensors that are no initialisers of its main graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import onnx
from onnx import helper, numpy_helper

from ...dtypes import STORAGE_TYPES
from .read_model import Source
from .read_tensor import read_sparse, read_tensor, read_words


def embed_external(model: onnx.ModelProto, source: Source) -> None:
    """Loads the data of tensors among attributes and in subgraphs: ONNX's checks would look for the files where the
    program runs. Sparse initialisers of subgraphs become dense. Raises InputError for data that is missing or not
    within the model's folder."""
    nodes = [*model.graph.node, *(n for f in model.functions for n in f.node)]
    for graph in _subgraphs(nodes):
        # ONNX's inference takes no sparse operands; those of the main graph become dense where they are read.
        for sparse in graph.sparse_initializer:
            name = sparse.values.name
            graph.initializer.append(numpy_helper.from_array(read_sparse(sparse, source, name), name))
        del graph.sparse_initializer[:]
    for tensor in _tensors(nodes):
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            name = tensor.name
            if tensor.data_type in STORAGE_TYPES:
                raw = read_words(tensor, source, name).tobytes()
                tensor.CopyFrom(helper.make_tensor(name, tensor.data_type, tensor.dims, raw, raw=True))
            else:
                tensor.CopyFrom(numpy_helper.from_array(read_tensor(tensor, source), name))


def _tensors(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.TensorProto]:
    for node in nodes:
        for a in node.attribute:
            yield from (a.t, a.sparse_tensor.values, a.sparse_tensor.indices, *a.tensors)
            for sparse in a.sparse_tensors:
                yield from (sparse.values, sparse.indices)
            for graph in (a.g, *a.graphs):
                yield from graph.initializer
                yield from _tensors(graph.node)


def _subgraphs(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.GraphProto]:
    for node in nodes:
        for a in node.attribute:
            for graph in (*([a.g] if a.HasField("g") else []), *a.graphs):
                yield graph
                yield from _subgraphs(graph.node)
