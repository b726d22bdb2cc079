"""Checks dtypes and shapes throughout a model with ONNX's own inference."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

import onnx
from google.protobuf.message import DecodeError
from onnx import helper, shape_inference

from ...errors import InputError
from .hide_shape_operands import hide_shape_operands
from .read_model import Source
from .write_defaults import write_defaults

_NOT_INFERRED = "branches"
"""The domain of nodes that inference passes over."""


def check_types(model: onnx.ModelProto, weights: Collection[str], source: Source) -> Mapping[str, onnx.TypeProto]:
    """The types of intermediate values and outputs by name, as far as ONNX can infer them.

    Takes the shapes of inputs as fixed and ignores those declared for outputs, which other input shapes make stale.
    Values are not propagated: ONNX would list each element of a Range or of a chain of Concat.
    Raises InputError where dtypes or shapes contradict each other.
    """
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for output in copy.graph.output:
        output.ClearField("type")
    write_defaults(copy.graph.node, next(i.version for i in copy.opset_import if not i.domain))
    hide_shape_operands(copy, source)
    try:
        inferred = _infer(copy)
    except (shape_inference.InferenceError, ValueError) as error:
        inputs = ", ".join(
            f"{v.name} {[d.dim_value for d in v.type.tensor_type.shape.dim]}"
            for v in model.graph.input
            if v.name not in weights
        )
        raise InputError(
            f"{source.name}: dtypes or shapes do not fit together: {_first(str(error))}; "
            f"the inputs are {inputs or 'none'}: check them, or export the model again"
        ) from None
    return {v.name: v.type for v in (*inferred.graph.value_info, *inferred.graph.output)}


def _infer(model: onnx.ModelProto) -> onnx.ModelProto:
    """Infers shapes by ONNX. A branch of an If may contradict the shapes: importing decides what becomes of it. Nor are
    branches entered that are nested too deeply for Protobuf to read them with the types that were added."""
    try:
        return shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=False)
    except (shape_inference.InferenceError, ValueError, DecodeError):
        without = onnx.ModelProto()
        without.CopyFrom(model)
        branches = [n for n in without.graph.node if n.op_type == "If" and not n.domain]
        if not branches:
            raise
        for node in branches:
            node.domain = _NOT_INFERRED
            del node.attribute[:]
        without.opset_import.append(helper.make_opsetid(_NOT_INFERRED, 1))
        return shape_inference.infer_shapes(without, check_type=True, strict_mode=True, data_prop=False)


def _first(complaints: str) -> str:
    """The error of the first node: those of later nodes, which then lack a type, follow from it."""
    text = re.sub(r"\[(Shape|Type)InferenceError\]|Inference error\(s\):", "", complaints)
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    return lines[0].rstrip(".") if lines else "unknown reason"
