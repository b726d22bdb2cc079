"""The class of each pixel of the picture that was given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..dtypes import ONNX_NUMBERS, U8
from ..graph.ir import Array, Graph, Value
from ..graph.tail import Tail
from ..pictures.take_pictures import PictureInput
from .classify import are_scores
from .fitted import OfOneOutput, as_floats, extents, find_output
from .formats import Answer
from .frame import Axis, Frame, class_axis, frame_of
from .labels import Labels


@dataclass(frozen=True, slots=True)
class Mask(OfOneOutput):
    """Classes of `rows` x `columns`: those with the largest of the output's numbers of `classes` along `axis`; of one
    number alone, whether it is above `least`."""

    frame: Frame
    rows: int
    columns: int
    axis: int
    classes: int
    least: float
    labels: Labels | None

    kind = "mask"
    many = False
    tokenizer = None

    @property
    def fields(self) -> dict[str, object]:
        return {"frame": self.frame.fields, "rows": self.rows, "columns": self.columns}

    def add(self, tail: Tail) -> dict[str, Value]:
        x, name = as_floats(tail, self.output), self.output.name
        if self.classes > 1:
            best = tail.node("ArgMax", f"{name}.likeliest", x, axis=self.axis, keepdims=0)
        else:
            best = tail.node("Greater", f"{name}.above", x, tail.constant(f"{name}.least", self.least))
        small = tail.node("Cast", f"{name}.small", best, to=ONNX_NUMBERS[U8])
        return {"classes": tail.reshaped(f"{name}.mask", small, self.rows, self.columns)}

    def read(self, parts: Mapping[str, Array], shapes: Mapping[str, Sequence[int]]) -> dict[str, object]:
        across, down = self.frame.axes(shapes)
        x, y = _sources(across, self.frame.columns, self.columns), _sources(down, self.frame.rows, self.rows)
        padded = np.pad(parts["classes"], ((0, 1), (0, 1)))  # class 0 where the model saw nothing
        mask: dict[str, object] = {"width": len(x), "height": len(y), "classes": padded[np.ix_(y, x)].ravel()}
        return mask if self.labels is None else {**mask, "labels": list(self.labels.names)}

    def describe(self) -> str:
        return f"a mask of {self.rows} x {self.columns}, of {max(self.classes, 2)} classes in {self.output.name}"


def _sources(axis: Axis, pixels: int, count: int) -> Array:
    """For each pixel of the picture along an axis the place in a mask of `count`, or `count` for none."""
    first, scale, length = axis
    at = np.floor(((np.arange(length) + 0.5) / scale - first) * count / pixels).astype(np.int64)
    return np.where((at >= 0) & (at < count), at, count)


def fit_mask(graph: Graph, answer: Answer, labels: Labels | None, pictures: Sequence[PictureInput]) -> Mask:
    """Raises InputError where no output has the shape of the input's pixels, or of a part of them."""
    frame = frame_of(graph, pictures, answer)

    of = f"in the proportions of {frame.rows} x {frame.columns}"
    expected = f"float32[1, classes, rows, columns] or float32[1, rows, columns, classes] {of}"
    output = find_output(graph, answer, lambda v: class_axis(v, frame) is not None, expected)
    axis, shape = class_axis(output, frame) or 1, extents(output)
    rows, columns = shape[2:] if axis == 1 else shape[1:3]
    if labels is not None:
        labels.check(max(shape[axis], 2), output.name)
    least = 0.5 if are_scores(graph, output) else 0.0
    return Mask(output, frame, rows, columns, axis, shape[axis], least, labels)
