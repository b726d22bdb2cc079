"""CropAndResize: parts of images, each resized to one size."""

from __future__ import annotations

import numpy as np
import onnx

from ..call import Call, Handler

_INT64 = onnx.TensorProto.INT64


def _crop_and_resize(call: Call) -> str:
    """Boxes are y1, x1, y2, x2 in parts of the image's extents less one, of which the corners are pixels; places
    outside of the image have the extrapolation value (tf.image.crop_and_resize)."""
    method = call.text("method_name") or call.text("method", "bilinear")
    height, width = call.listed(3, "the size of crops")
    x = call.cast(call.read(0), onnx.TensorProto.FLOAT)
    y1, x1, y2, x2 = call.nodes("Split", [call.read(1)], 4, axis=1, num_outputs=4)
    extents = call.node("Cast", [call.node("Shape", [x], start=1, end=3)], to=onnx.TensorProto.FLOAT)
    most = call.node("Sub", [extents, call.number(1)])
    tall, wide = call.nodes("Split", [most], 2, axis=0, num_outputs=2)
    rows, columns = _places(call, y1, y2, tall, height), _places(call, x1, x2, wide, width)  # boxes x places
    inside = call.node(
        "And",
        [
            call.node("Unsqueeze", [_inside(call, rows, tall), call.integers([2])]),
            call.node("Unsqueeze", [_inside(call, columns, wide), call.integers([1])]),
        ],
    )
    batch = call.node("Reshape", [call.cast(call.read(2), _INT64), call.integers([-1, 1, 1])])

    def at(row: str, column: str) -> str:
        """The pixels at rows and columns, boxes x height x width x channels."""
        down = call.node("Unsqueeze", [call.cast(_held(call, row, tall), _INT64), call.integers([2])])
        along = call.node("Unsqueeze", [call.cast(_held(call, column, wide), _INT64), call.integers([1])])
        zeros = call.node("Mul", [call.node("Add", [down, along]), call.integers(0)])
        parts = [
            call.node("Unsqueeze", [call.node("Add", [zeros, v]), call.integers([-1])]) for v in (batch, down, along)
        ]
        return call.node("GatherND", [x, call.node("Concat", parts, axis=-1)])

    if method == "nearest":
        result = at(_rounded(call, rows), _rounded(call, columns))
    else:
        top, left = call.node("Floor", [rows]), call.node("Floor", [columns])
        bottom, right = call.node("Ceil", [rows]), call.node("Ceil", [columns])
        v = call.node("Unsqueeze", [call.node("Sub", [rows, top]), call.integers([2, 3])])
        u = call.node("Unsqueeze", [call.node("Sub", [columns, left]), call.integers([1, 3])])
        upper = _between(call, at(top, left), at(top, right), u)
        result = _between(call, upper, _between(call, at(bottom, left), at(bottom, right), u), v)
    outside = call.number(call.real("extrapolation_value"))
    return call.node("Where", [call.node("Unsqueeze", [inside, call.integers([3])]), result, outside])


def _places(call: Call, first: str, last: str, most: str, count: int) -> str:
    if count == 1:
        return call.node("Mul", [call.node("Mul", [call.node("Add", [first, last]), call.number(0.5)]), most])
    steps = call.builder.constant(np.arange(count, dtype=np.float32)[None], "steps")
    scale = call.node("Div", [call.node("Mul", [call.node("Sub", [last, first]), most]), call.number(count - 1)])
    return call.node("Add", [call.node("Mul", [first, most]), call.node("Mul", [steps, scale])])


def _inside(call: Call, places: str, most: str) -> str:
    low = call.node("GreaterOrEqual", [places, call.number(0)])
    return call.node("And", [low, call.node("LessOrEqual", [places, most])])


def _held(call: Call, places: str, most: str) -> str:
    return call.node("Min", [call.node("Max", [places, call.number(0)]), most])


def _rounded(call: Call, places: str) -> str:
    return call.node("Floor", [call.node("Add", [places, call.number(0.5)])])


def _between(call: Call, a: str, b: str, part: str) -> str:
    return call.node("Add", [a, call.node("Mul", [call.node("Sub", [b, a]), part])])


OPERATORS: dict[str, Handler] = {"CropAndResize": _crop_and_resize}
