"""Points of a body, a face or a hand, in the coordinates of the picture that was given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..dtypes import F32, I32, ONNX_NUMBERS
from ..graph.ir import Array, Graph, Value
from ..graph.tail import Tail
from ..pictures.take_pictures import PictureInput
from .fitted import FLOATS, OfOneOutput, as_floats, extents, find_output
from .formats import Answer, Locate
from .frame import Frame, class_axis, frame_of, inside
from .labels import Labels


@dataclass(frozen=True, slots=True)
class Keypoints(OfOneOutput):
    """So many points of an output: places of the largest numbers of heat maps of `rows` x `columns`, which are along
    `axis`; or, without one, y, x and score, relative to the sides of the input, or x first where it is `transposed`."""

    frame: Frame
    count: int
    axis: int | None
    rows: int
    columns: int
    transposed: bool
    labels: Labels | None

    kind = "keypoints"
    many = False
    tokenizer = None

    @property
    def fields(self) -> dict[str, object]:
        return {"frame": self.frame.fields}

    def add(self, tail: Tail) -> dict[str, Value]:
        """x and y in pixels of the input, and a score: [points, 3]."""
        name, x = self.output.name, as_floats(tail, self.output)
        parts = self._relative(tail, name, x) if self.axis is None else self._of_maps(tail, name, x)
        return {"points": tail.node("Concat", f"{name}.points", *parts, axis=1)}

    def _relative(self, tail: Tail, name: str, x: Value) -> list[Value]:
        table = tail.reshaped(f"{name}.table", x, self.count, 3)
        order = (0, 1, 2) if self.transposed else (1, 0, 2)
        places = tail.constant(f"{name}.order", order, np.int64)
        sides = tail.constant(f"{name}.sides", [self.frame.columns, self.frame.rows, 1])
        ordered = tail.node("Gather", f"{name}.ordered", table, places, axis=1)
        return [tail.node("Mul", f"{name}.pixels", ordered, sides)]

    def _of_maps(self, tail: Tail, name: str, x: Value) -> list[Value]:
        if self.axis == 3:
            x = tail.node("Transpose", f"{name}.first", x, perm=(0, 3, 1, 2))
        maps = tail.reshaped(f"{name}.maps", x, self.count, self.rows * self.columns)
        scores = tail.node("ReduceMax", f"{name}.score", maps, axes=(1,), keepdims=1)
        wide = tail.node("ArgMax", f"{name}.likeliest", maps, axis=1, keepdims=1)
        at = tail.node("Cast", f"{name}.at", wide, to=ONNX_NUMBERS[I32])
        width = tail.constant(f"{name}.width", self.columns, np.int32)
        row = tail.node("Div", f"{name}.row", at, width)
        column = tail.node("Mod", f"{name}.column", at, width)
        half = tail.constant(f"{name}.half", 0.5)

        def pixels(place: Value, scale: float) -> Value:
            floats = tail.node("Cast", f"{name}.float", place, to=ONNX_NUMBERS[F32])
            middle = tail.node("Add", f"{name}.middle", floats, half)
            return tail.node("Mul", f"{name}.pixel", middle, tail.constant(f"{name}.scale", scale))

        scales = self.frame.columns / self.columns, self.frame.rows / self.rows
        return [pixels(column, scales[0]), pixels(row, scales[1]), scores]

    def read(self, parts: Mapping[str, Array], shapes: Mapping[str, Sequence[int]]) -> list[dict[str, object]]:
        across, down = self.frame.axes(shapes)
        names = None if self.labels is None else self.labels.names
        return [
            {
                "label": str(i) if names is None else names[i],
                "score": float(score),
                "index": i,
                "x": inside(across, float(x)),
                "y": inside(down, float(y)),
            }
            for i, (x, y, score) in enumerate(parts["points"])
        ]

    def describe(self) -> str:
        how = "" if self.axis is None else f", from maps of {self.rows} x {self.columns}"
        return f"{self.count} points in {self.output.name}{how}; pixels are those of {self.frame.name}"


def fit_keypoints(
    graph: Graph, answer: Answer, form: Locate, labels: Labels | None, pictures: Sequence[PictureInput]
) -> Keypoints:
    """Raises InputError where no output has points, or maps of them."""
    frame = frame_of(graph, pictures, answer)

    def is_table(v: Value) -> bool:
        shape = extents(v)
        return (
            v.dtype in FLOATS and len(shape) in (3, 4) and shape[-1] == 3 and set(shape[:-2]) == {1} and shape[-2] > 1
        )

    expected = (
        "float32[1, 1, points, 3] (y, x and score, relative to the sides), or float32[1, points, rows, columns] in the "
        f"proportions of {frame.rows} x {frame.columns}"
    )
    output = find_output(graph, answer, lambda v: is_table(v) or class_axis(v, frame) is not None, expected)
    axis, shape = (None if is_table(output) else class_axis(output, frame)), extents(output)
    rows, columns = (0, 0) if axis is None else shape[2:] if axis == 1 else shape[1:3]
    count = shape[-2] if axis is None else shape[axis]
    if labels is not None:
        labels.check(count, output.name)
    return Keypoints(output, frame, count, axis, rows, columns, form.transposed, labels)
