"""The outputs of a classifier: a label, and scores by label, as ai.onnx.ml has them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import TensorProto, helper

from ..model_builder import ML, ModelBuilder


def add_classes(
    builder: ModelBuilder, scores: str, classes: Sequence[str] | Sequence[int], label: str, by_label: str
) -> None:
    """Adds the output `label`, the class of the highest of `scores`, a float32 tensor of any shape, and the output
    `by_label`, the scores by class; "" where a model lacks one of them."""
    strings = not classes or isinstance(classes[0], str)
    row = builder.node("Reshape", [scores, builder.integers([1, -1])], "scores")
    if label:
        table = builder.constant(np.array(list(classes), object if strings else np.int64), "classes")
        place = builder.node("ArgMax", [row], "place", axis=1, keepdims=0)
        taken = builder.node("ArrayFeatureExtractor", [table, place], "label", domain=ML)
        builder.node("Reshape", [taken, builder.integers([-1])], label, outputs=[label])
        builder.output(label, TensorProto.STRING if strings else TensorProto.INT64, None)
    if by_label:
        names = {"classlabels_strings" if strings else "classlabels_int64s": list(classes)}
        builder.node("ZipMap", [row], by_label, outputs=[by_label], domain=ML, **names)
        key = TensorProto.STRING if strings else TensorProto.INT64
        score = helper.make_tensor_type_proto(TensorProto.FLOAT, [])
        type = helper.make_sequence_type_proto(helper.make_map_type_proto(key, score))
        builder.graph().output.append(helper.make_value_info(by_label, type))
