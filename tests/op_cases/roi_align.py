"""Rows of RoiAlign and MaxRoiPool."""

from __future__ import annotations

from typing import Any

import numpy as np
from op_cases._arrays import Arrays
from op_table import Array, Case

_a = Arrays(93)

_BOXES = np.asarray(
    [
        [1, 1, 6.5, 7],
        [0, 0, 3, 2.2],
        [-3.4, 2, 4, 12],
        [5, 6, 5.2, 6.1],
        [6, 5, 2, 3],
        [2, 2, 2, 2],
        [-30, -20, 40, 50],
    ],
    np.float32,
)
"""Some reach outside, one has its corners exchanged, one is a point, and one is much larger than the image."""


def _case(id: str, x: Array, boxes: Array, opset: int = 16, **attributes: Any) -> Case:
    inputs = (x, boxes.astype(x.dtype), _a.integers(0, x.shape[0], len(boxes)))
    attributes = {"output_height": 3, "output_width": 2} | attributes
    return Case(f"roialign-{id}", "RoiAlign", inputs, attributes, opset, tolerance=2e-5)


def _pooled(id: str, x: Array, boxes: Array, height: int, width: int, **attributes: Any) -> Case:
    image = _a.integers(0, x.shape[0], len(boxes), 1).astype(x.dtype)
    inputs = (x, np.concatenate([image, boxes.astype(x.dtype)], axis=1))
    return Case(f"maxroipool-{id}", "MaxRoiPool", inputs, {"pooled_shape": [height, width], **attributes}, 13)


_x = _a.normal

CASES = [
    *(
        _case(
            f"{mode}-{coordinates}-{ratio}",
            _x(2, 3, 9, 8),
            _BOXES,
            mode=mode,
            coordinate_transformation_mode=coordinates,
            sampling_ratio=ratio,
        )
        for mode in ("avg", "max")
        for coordinates in ("half_pixel", "output_half_pixel")
        for ratio in (0, 2)
    ),
    _case("defaults", _x(1, 2, 7, 6), _BOXES, output_height=1, output_width=1),
    _case("opset-10", _x(1, 2, 7, 6), _BOXES, 10),
    _case("scale", _x(1, 2, 7, 6), _BOXES * 4, spatial_scale=0.25, sampling_ratio=3),
    _case("one-pixel", _x(2, 2, 1, 1), _BOXES[:4]),
    _case("no-boxes", _x(1, 2, 7, 6), _BOXES[:0]),
    _case("float64", _x(1, 2, 7, 6).astype(np.float64), _BOXES, sampling_ratio=2),
    _pooled("boxes", _x(2, 3, 9, 8), _BOXES, 3, 2),
    _pooled("scale", _x(1, 2, 17, 19), _BOXES * 8, 5, 7, spatial_scale=0.3),
    _pooled("cell", _x(1, 4, 6, 6), _BOXES, 1, 1),
    _pooled("halves", _x(2, 1, 12, 13), _BOXES + np.float32(0.5), 7, 6),
    _pooled("no-boxes", _x(1, 2, 7, 6), _BOXES[:0], 2, 2),
]
