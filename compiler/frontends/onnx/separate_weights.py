"""Splits a model into its structure and its weights, so that checks and inference never copy the weights."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import onnx
from onnx import helper

from ...errors import InputError
from .read_model import Source
from .read_tensor import type_name

Weights = Mapping[str, onnx.TensorProto | onnx.SparseTensorProto]

KEPT_ELEMENTS = 256
"""Initialisers up to this size stay in the skeleton: shapes, axes and scales, whose values inference needs."""


def separate_weights(model: onnx.ModelProto, source: Source) -> tuple[onnx.ModelProto, Weights]:
    """A copy of `model` in which large initialisers are inputs without data, and all initialisers by name.

    The copy carries no declared shapes of intermediate values, which go stale once inputs are given other shapes.
    """
    weights: dict[str, onnx.TensorProto | onnx.SparseTensorProto] = {}
    graph = onnx.GraphProto(name=model.graph.name or "graph")
    graph.node.extend(model.graph.node)
    graph.output.extend(model.graph.output)
    graph.input.extend(model.graph.input)
    declared = {v.name: v.type.tensor_type for v in model.graph.input}
    for tensor in (*model.graph.initializer, *model.graph.sparse_initializer):
        sparse = isinstance(tensor, onnx.SparseTensorProto)
        name = tensor.values.name if sparse else tensor.name
        if name in weights:
            raise InputError(f"{source.name} has two initialisers named {name!r}; export the model again")
        weights[name] = tensor
        elements = tensor.values.data_type if sparse else tensor.data_type
        if name in declared:
            _check_declared(declared[name], name, elements, tuple(tensor.dims), source)
        external = not sparse and tensor.data_location == onnx.TensorProto.EXTERNAL
        if not sparse and not external and prod(tensor.dims) <= KEPT_ELEMENTS:
            graph.initializer.append(tensor)
        elif name not in declared:
            graph.input.append(helper.make_tensor_value_info(name, elements, tensor.dims))
    skeleton = onnx.ModelProto(ir_version=model.ir_version, graph=graph)
    skeleton.opset_import.extend(model.opset_import)
    skeleton.functions.extend(model.functions)
    return skeleton, weights


def _check_declared(
    declared: onnx.TypeProto.Tensor, name: str, elements: int, shape: tuple[int, ...], source: Source
) -> None:
    """Raises InputError unless an initialiser is what the model declares for the input of the same name."""
    same = declared.elem_type in (elements, onnx.TensorProto.UNDEFINED)
    if declared.HasField("shape"):
        extents = [d.dim_value for d in declared.shape.dim]
        # 0 and -1 stand for an extent that is not known.
        same &= len(extents) == len(shape) and all(e in (d, 0, -1) for d, e in zip(shape, extents, strict=True))
    if not same:
        extents = [d.dim_value if d.dim_value > 0 else d.dim_param or "?" for d in declared.shape.dim]
        expected = f"{type_name(declared.elem_type)}{extents if declared.HasField('shape') else ''}"
        raise InputError(
            f"{source.name} is not a valid ONNX model: its initialiser {name!r} is {type_name(elements)}{list(shape)}, "
            f"and the input of this name is declared as {expected}; export it again"
        )
