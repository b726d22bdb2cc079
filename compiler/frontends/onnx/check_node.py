"""Checks one node, whose inputs' shapes are known by now, with ONNX's own inference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx
from onnx import helper, numpy_helper, shape_inference

from ...graph.ir import Array, Value
from .hide_shape_operands import SHAPE_OPERANDS
from .separate_weights import KEPT_ELEMENTS


def check_node(
    node: onnx.NodeProto, inputs: Sequence[Value | None], constants: Mapping[Value, Array], opset: int
) -> str | None:
    """Describes how `node` violates ONNX's definition of its operator; None where it does not.

    Where shapes depend on computed values, this finds what `check_types` cannot: it has `constants`.
    """
    operands = {name: v for name, v in zip(node.input, inputs, strict=False) if v is not None}
    if any(name and name not in operands for name in node.input):  # a node with subgraphs, which has none of them
        return None
    data = {
        name: numpy_helper.from_array(constants[v], name)
        for name, v in operands.items()
        if v in constants and constants[v].size <= KEPT_ELEMENTS
    }
    at = SHAPE_OPERANDS.get(node.op_type, len(node.input))
    hidden = {name for name in node.input[at : at + 1] if name not in data}
    types = {
        name: helper.make_tensor_type_proto(
            helper.np_dtype_to_tensor_dtype(v.dtype.numpy),
            None if name in hidden else [n if isinstance(n, int) else None for n in v.shape],
        )
        for name, v in operands.items()
    }
    try:
        schema = onnx.defs.get_schema(node.op_type, opset)
        shape_inference.infer_node_outputs(schema, node, types, data, opset_imports=[helper.make_opsetid("", opset)])
    except onnx.defs.SchemaError:
        return None
    except (shape_inference.InferenceError, onnx.checker.ValidationError, ValueError) as error:
        return " ".join(str(error).split()).rstrip(".")
    return None
