"""The pixels of an input, as coordinates of boxes and points count them, and where these are in a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import InputError
from ..graph.ir import Graph, Value
from ..pictures.prepare import place
from ..pictures.take_pictures import PictureInput
from .fitted import FLOATS, described, extents

Axis = tuple[float, float, float]
"""How coordinates of an input become those of a picture along an axis: (coordinate + first) * scale, up to a length."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Input `name` of `rows` x `columns` pixels, which a `picture` may fill."""

    name: str
    rows: int
    columns: int
    picture: PictureInput | None

    @property
    def fields(self) -> dict[str, object]:
        """As a page has it."""
        fields: dict[str, object] = {"input": self.name, "rows": self.rows, "columns": self.columns}
        if self.picture is not None:
            fields |= {"resize": self.picture.format.resize, "whole": list(self.picture.whole)}
        return fields

    def axes(self, shapes: Mapping[str, Sequence[int]]) -> tuple[Axis, Axis]:
        """x and y, in a run of inputs of these shapes."""
        if self.picture is None:
            return (0, 1, self.columns), (0, 1, self.rows)
        height, width = shapes[self.name]
        rows, columns = self.picture.whole
        down, across = (height, self.rows, rows), (width, self.columns, columns)
        (wide, left), (high, top) = place(across, down, self.picture.format), place(down, across, self.picture.format)
        return (left, width / wide, width), (top, height / high, height)


def inside(axis: Axis, coordinate: float) -> float:
    """The coordinate in the picture, or the nearest one."""
    first, scale, length = axis
    return min(max((coordinate + first) * scale, 0.0), length)


def frame_of(graph: Graph, pictures: Sequence[PictureInput], where: object) -> Frame:
    """The only input of pixels. Raises InputError where there is none, or are several."""
    if len(pictures) == 1:
        (one,) = pictures
        return Frame(one.value.name, one.rows, one.columns, one)
    found = []
    for v in graph.inputs:
        shape = extents(v)
        if len(shape) == 4 and shape[0] == 1 and {shape[1], shape[3]} & {1, 3}:
            rows, columns = shape[2:] if shape[1] in (1, 3) else shape[1:3]
            found.append(Frame(v.name, rows, columns, None))
    if len(found) != 1:
        inputs = "; ".join(map(described, graph.inputs))
        raise InputError(
            f"{where}: it needs one input of pixels, [1, 3, height, width] or [1, height, width, 3]; the model has "
            f"{inputs}; give --picture for the one"
        )
    return found[0]


def class_axis(v: Value, frame: Frame) -> int | None:
    """The axis of classes of an output whose other sides are those of the frame, in proportion."""
    shape = extents(v)
    if len(shape) != 4 or shape[0] != 1 or v.dtype not in FLOATS:
        return None
    sides = {1: shape[2:], 3: shape[1:3]}
    fitting = [a for a, (h, w) in sides.items() if min(h, w) > 1 and h * frame.columns == w * frame.rows]
    return fitting[0] if fitting and shape[fitting[0]] <= MOST_CLASSES else None


MOST_CLASSES = 256
"""Classes of a pixel, which are bytes."""
