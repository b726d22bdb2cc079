"""Splits a model into its structure and its weights, so that checks and inference never copy the weights."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
from onnx import helper

from ...errors import InputError
from .read_model import Source

Weights = Mapping[str, onnx.TensorProto | onnx.SparseTensorProto]

KEPT_ELEMENTS = 256
"""Initialisers up to this size stay in the skeleton: shapes, axes and scales, which inference wants to see."""


def separate_weights(model: onnx.ModelProto, source: Source) -> tuple[onnx.ModelProto, Weights]:
    """A copy of `model` in which large initialisers are inputs without data, and all initialisers by name.

    The copy carries no declared shapes of intermediate values, which go stale once inputs are given other shapes.
    """
    weights: dict[str, onnx.TensorProto | onnx.SparseTensorProto] = {}
    graph = onnx.GraphProto(name=model.graph.name or "graph")
    graph.node.extend(model.graph.node)
    graph.output.extend(model.graph.output)
    graph.input.extend(model.graph.input)
    declared = {v.name for v in model.graph.input}
    for tensor in (*model.graph.initializer, *model.graph.sparse_initializer):
        sparse = isinstance(tensor, onnx.SparseTensorProto)
        name = tensor.values.name if sparse else tensor.name
        if name in weights:
            raise InputError(f"{source.name} has two initialisers named {name!r}; export the model again")
        weights[name] = tensor
        external = not sparse and tensor.data_location == onnx.TensorProto.EXTERNAL
        if not sparse and not external and np.prod(tensor.dims, dtype=np.int64) <= KEPT_ELEMENTS:
            graph.initializer.append(tensor)
        elif name not in declared:
            elements = tensor.values.data_type if sparse else tensor.data_type
            graph.input.append(helper.make_tensor_value_info(name, elements, tensor.dims))
    skeleton = onnx.ModelProto(ir_version=model.ir_version, graph=graph)
    skeleton.opset_import.extend(model.opset_import)
    skeleton.functions.extend(model.functions)
    return skeleton, weights
