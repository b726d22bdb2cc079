"""The outputs of a classifier: a label, and scores by label, as ai.onnx.ml has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from ...errors import UnsupportedError
from ..model_builder import ML, ModelBuilder


@dataclass(frozen=True, slots=True)
class Labels:
    """An output of a classifier: its label or, with `by_label`, its scores by label. `row` are the scores of the
    `classes`, float32 [1, classes]; `place` is the place of the label, int64 [1], "" for that of the highest score."""

    classes: Sequence[str] | Sequence[int]
    row: str
    place: str
    by_label: bool


def read_classes(message: Any, name: str) -> list[str] | list[int]:
    """The labels of a classifier's message. Raises UnsupportedError, which names the model, where it has none."""
    classes = list(message.stringClassLabels.vector) or [int(n) for n in message.int64ClassLabels.vector]
    if not classes:
        raise UnsupportedError(f"{name}: it is a classifier without labels; convert it with them")
    return classes


def labels_of(
    builder: ModelBuilder,
    scores: str,
    classes: Sequence[str] | Sequence[int],
    label: str,
    by_label: str,
    place: str = "",
) -> dict[str, Labels]:
    """The outputs `label` and `by_label`, "" where a model lacks one, of `scores`, a float32 tensor of any shape."""
    row = builder.node("Reshape", [scores, builder.integers([1, -1])], "scores")
    named = ((label, Labels(classes, row, place, False)), (by_label, Labels(classes, row, place, True)))
    return {name: labels for name, labels in named if name}


def add_labels(builder: ModelBuilder, name: str, labels: Labels) -> None:
    """Adds an output of this name, which no value has yet."""
    strings = not labels.classes or isinstance(labels.classes[0], str)
    key = TensorProto.STRING if strings else TensorProto.INT64
    if not labels.by_label:
        table = builder.constant(np.array(list(labels.classes), object if strings else np.int64), "classes")
        place = labels.place or builder.node("ArgMax", [labels.row], "place", axis=1, keepdims=0)
        taken = builder.node("ArrayFeatureExtractor", [table, place], "label", domain=ML)
        builder.node("Reshape", [taken, builder.integers([-1])], name, outputs=[name])
        builder.output(name, key, None)
        return
    names = {"classlabels_strings" if strings else "classlabels_int64s": list(labels.classes)}
    builder.node("ZipMap", [labels.row], name, outputs=[name], domain=ML, **names)
    score = helper.make_tensor_type_proto(TensorProto.FLOAT, [])
    type = helper.make_sequence_type_proto(helper.make_map_type_proto(key, score))
    builder.graph().output.append(helper.make_value_info(name, type))
