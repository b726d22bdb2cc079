"""Checks dtypes and shapes throughout a model with ONNX's own inference."""

from __future__ import annotations

from collections.abc import Mapping

import onnx
from onnx import shape_inference

from ...errors import InputError
from .read_model import Source


def check_types(model: onnx.ModelProto, source: Source) -> Mapping[str, onnx.TypeProto]:
    """The types of intermediate values and outputs by name, as far as ONNX can infer them.

    Takes the shapes of inputs as fixed and ignores those declared for outputs, which other input shapes make stale.
    Raises InputError where dtypes or shapes contradict each other.
    """
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for output in copy.graph.output:
        output.ClearField("type")
    try:
        inferred = shape_inference.infer_shapes(copy, check_type=True, strict_mode=True, data_prop=True)
    except (shape_inference.InferenceError, ValueError) as error:
        reason = " ".join(str(error).replace("[ShapeInferenceError]", "").replace("[TypeInferenceError]", "").split())
        shapes = ", ".join(
            f"{v.name} {[d.dim_value for d in v.type.tensor_type.shape.dim]}"
            for v in model.graph.input
            if v.type.tensor_type.shape.dim and all(d.dim_value for d in v.type.tensor_type.shape.dim)
        )
        raise InputError(
            f"{source.name}: dtypes or shapes do not fit together: {reason}; "
            f"the inputs are {shapes}: check them, or export the model again"
        ) from None
    return {v.name: v.type for v in (*inferred.graph.value_info, *inferred.graph.output)}
