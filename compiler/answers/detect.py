"""Boxes of objects, in the coordinates of the picture that was given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..dtypes import I32, ONNX_NUMBERS
from ..errors import InputError
from ..graph.ir import Array, Attribute, Graph, Value
from ..graph.tail import Tail
from ..ops.call import OWN_DOMAIN
from ..pictures.take_pictures import PictureInput
from .fitted import FLOATS, as_floats, described, extents, find_output, names_of
from .formats import Answer, Detect, Detector
from .frame import Frame, frame_of, inside
from .labels import Labels


@dataclass(frozen=True, slots=True)
class Detections:
    """Boxes of so many `classes`, of outputs `takes`: one, or those of boxes and of scores."""

    takes: tuple[Value, ...]
    detector: Detector
    frame: Frame
    count: int
    classes: int
    labels: Labels | None

    kind = "detect"
    many = False
    tokenizer = None

    @property
    def fields(self) -> dict[str, object]:
        return {"frame": self.frame.fields}

    def add(self, tail: Tail) -> dict[str, Value]:
        d, name = self.detector, self.takes[0].name
        boxes, scores = self._table(tail, self.takes[0]), self._table(tail, self.takes[-1])
        first = 0 if d.arrangement == "apart" else 4 + d.objectness
        scores = _columns(tail, f"{name}.kinds", scores, first, first + d.background + self.classes)
        if d.activation != "none":
            axis: dict[str, Attribute] = {"axis": 1} if d.activation == "softmax" else {}
            scores = tail.node(d.activation.capitalize(), f"{name}.{d.activation}", scores, domain="", **axis)
        scores = _columns(tail, f"{name}.classes", scores, int(d.background), d.background + self.classes)
        best = tail.node("ReduceMax", f"{name}.best", scores, axes=(1,), keepdims=0)
        wide = tail.node("ArgMax", f"{name}.likeliest", scores, axis=1, keepdims=0)
        index = tail.node("Cast", f"{name}.class", wide, to=ONNX_NUMBERS[I32])
        if d.objectness:
            known = tail.reshaped(f"{name}.object", _columns(tail, f"{name}.objectness", boxes, 4, 5), self.count)
            best = tail.node("Mul", f"{name}.certain", best, known)
        placed = self._placed(tail, name, _columns(tail, f"{name}.four", boxes, 0, 4))
        names = (f"{name}.boxes", f"{name}.scores", f"{name}.index")
        limits = {"threshold": float(d.threshold), "overlap": float(d.overlap), "most": min(d.most, self.count)}
        parts = tail.nodes("SelectBoxes", names, placed, best, index, domain=OWN_DOMAIN, **limits)
        return dict(zip(("boxes", "scores", "index"), parts, strict=True))

    def _table(self, tail: Tail, value: Value) -> Value:
        """[boxes, columns] of float32."""
        x, (_, a, b) = as_floats(tail, value), extents(value)
        x = tail.reshaped(f"{value.name}.table", x, a, b)
        return tail.node("Transpose", f"{value.name}.rows", x) if self.detector.arrangement == "columns" else x

    def _placed(self, tail: Tail, name: str, four: Value) -> Value:
        """x and y of the corner near the origin, width and height, in pixels of the input: [boxes, 4]."""
        d = self.detector
        first, second = (_columns(tail, f"{name}.{what}", four, at, at + 2) for what, at in (("near", 0), ("far", 2)))
        if d.unit == "cells":
            corners, sides = _cells(self.frame, d)
            strides = tail.constant(f"{name}.strides", sides)
            moved = tail.node("Add", f"{name}.cells", first, tail.constant(f"{name}.grid", corners))
            first = tail.node("Mul", f"{name}.middles", moved, strides)
            second = tail.node("Mul", f"{name}.extents", tail.node("Exp", f"{name}.exp", second), strides)
        if d.boxes == "centre":
            half = tail.node("Mul", f"{name}.halves", second, tail.constant(f"{name}.half", 0.5))
            first = tail.node("Sub", f"{name}.corners", first, half)
        else:
            near, far = (tail.node(op, f"{name}.{op}", first, second) for op in ("Min", "Max"))
            first, second = near, tail.node("Sub", f"{name}.sides", far, near)
        placed = tail.node("Concat", f"{name}.placed", first, second, axis=1)
        if d.boxes == "corners-yx":
            order = tail.constant(f"{name}.order", [1, 0, 3, 2], np.int64)
            placed = tail.node("Gather", f"{name}.turned", placed, order, axis=1)
        if d.unit != "relative":
            return placed
        sides = np.array([self.frame.columns, self.frame.rows] * 2)
        return tail.node("Mul", f"{name}.pixels", placed, tail.constant(f"{name}.size", sides))

    def read(self, parts: Mapping[str, Array], shapes: Mapping[str, Sequence[int]]) -> list[dict[str, object]]:
        across, down = self.frame.axes(shapes)
        found = []
        for (x, y, width, height), score, index in zip(parts["boxes"], parts["scores"], parts["index"], strict=True):
            if score > 0:
                left, right = (inside(across, float(v)) for v in (x, float(x) + float(width)))
                top, bottom = (inside(down, float(v)) for v in (y, float(y) + float(height)))
                label = str(index) if self.labels is None else self.labels.names[index]
                box = {"x": left, "y": top, "width": right - left, "height": bottom - top}
                found.append({"label": label, "score": float(score), "index": int(index), "box": box})
        return found

    def describe(self) -> str:
        kinds = "1 class" if self.classes == 1 else f"{self.classes} classes"
        of = f"{self.takes[0].name} with scores {self.takes[1].name}" if len(self.takes) > 1 else self.takes[0].name
        most = min(self.detector.most, self.count)
        return f"up to {most} boxes of {kinds}, of {self.count} in {of}; pixels are those of {self.frame.name}"


def _columns(tail: Tail, name: str, x: Value, first: int, last: int) -> Value:
    """Columns of a table from `first` to before `last`."""
    if (first, last) == (0, x.shape[1]):
        return x
    bounds = {"first": first, "last": last, "axis": 1}
    operands = [tail.constant(f"{name}.{what}", [n], np.int64) for what, n in bounds.items()]
    return tail.node("Slice", name, x, *operands)


def _cells(frame: Frame, d: Detector) -> tuple[Array, Array]:
    """For each box the column and the row of its cell, and the cell's side in pixels: [boxes, 2] and [boxes, 1]."""
    corners, sides = [], []
    for stride in d.strides:
        y, x = np.indices((-(-frame.rows // stride), -(-frame.columns // stride)))
        cells = np.repeat(np.stack((x, y), axis=-1).reshape(-1, 2), d.anchors, axis=0)
        corners.append(cells)
        sides.append(np.full((len(cells), 1), stride))
    return np.concatenate(corners), np.concatenate(sides)


def fit_detections(
    graph: Graph, answer: Answer, form: Detect, labels: Labels | None, pictures: Sequence[PictureInput]
) -> Detections:
    """Raises InputError where outputs are not those of the detector."""
    d, frame = form.detector, frame_of(graph, pictures, answer)
    takes = _apart(graph, answer, d) if d.arrangement == "apart" else (_whole(graph, answer, d, frame),)
    count, columns = _sizes(takes[-1], d)
    classes = columns - (0 if d.arrangement == "apart" else 4 + d.objectness) - d.background
    if labels is not None:
        labels.check(classes, takes[-1].name)
    elif len(form.labels) == classes:
        labels = Labels(form.labels, "the detector")
    return Detections(takes, d, frame, count, classes, labels)


def _sizes(value: Value, d: Detector) -> tuple[int, int]:
    """How many boxes, and numbers of each."""
    _, a, b = extents(value)
    return (b, a) if d.arrangement == "columns" else (a, b)


def _whole(graph: Graph, answer: Answer, d: Detector, frame: Frame) -> Value:
    """The output of boxes with their scores."""
    boxes, fixed, expected = 0, 4 + d.objectness, "boxes"
    if d.strides:
        boxes = len(_cells(frame, d)[0])
        strides = ", ".join(map(str, d.strides))
        expected = f"{boxes} boxes (of {frame.rows} x {frame.columns} pixels at strides {strides})"

    def fits(v: Value) -> bool:
        if len(v.shape) != 3 or extents(v)[:1] != (1,) or v.dtype not in FLOATS:
            return False
        count, columns = _sizes(v, d)
        return columns > fixed + d.background and count in (boxes or count,)

    sizes = [expected, f"{fixed} + classes"]
    if d.arrangement == "columns":
        sizes.reverse()
    return find_output(graph, answer, fits, f"float32[1, {', '.join(sizes)}]")


def _apart(graph: Graph, answer: Answer, d: Detector) -> tuple[Value, Value]:
    """The outputs of boxes and of scores."""

    def named(name: str, v: Value) -> bool:
        return v.name == name if name else True

    def table(v: Value) -> bool:
        shape = extents(v)
        return len(shape) == 3 and shape[0] == 1 and v.dtype in FLOATS

    tables = [v for v in graph.outputs if table(v)]
    pairs = [
        (boxes, scores)
        for boxes in tables
        for scores in tables
        if boxes is not scores
        and boxes.shape[2] == 4
        and boxes.shape[1] == scores.shape[1]
        and extents(scores)[2] > d.background
        and named(d.boxes_output or answer.output or "", boxes)
        and named(d.scores_output, scores)
    ]
    if not pairs:
        of = " + classes" if d.background else "classes"
        found = "; ".join(map(described, graph.outputs))
        raise InputError(
            f"{answer}: it takes outputs of float32[1, boxes, 4] and float32[1, boxes, {'1' * d.background}{of}]; the "
            f"model has {found}"
        )
    if len(pairs) > 1:
        several = " or ".join(names_of(pair) for pair in pairs)
        raise InputError(
            f"{answer}: several outputs fit it, as boxes and scores: {several}; name them by boxes_output and "
            "scores_output in a .json file"
        )
    return pairs[0]
