"""Rows of DeformConv."""

from __future__ import annotations

from typing import Any

import numpy as np
from op_cases._arrays import Arrays
from op_table import Array, Case

_a = Arrays(94)
_x = _a.normal


def _case(
    id: str,
    x: Array,
    w: Array,
    positions: tuple[int, ...],
    *,
    bias: bool = False,
    mask: bool = False,
    opset: int = 19,
    **attributes: Any,
) -> Case:
    """Offsets are of a pixel or two."""
    taps, groups = int(np.prod(w.shape[2:])), attributes.get("offset_group", 1)
    offset = _x(x.shape[0], groups * taps * len(positions), *positions) * np.float32(1.3)
    factors = _a.uniform(0, 1, x.shape[0], groups * taps, *positions)
    inputs = (x, w, offset, _x(w.shape[0]) if bias else None, factors if mask else None)
    while inputs[-1] is None:
        inputs = inputs[:-1]
    return Case(f"deformconv-{id}", "DeformConv", inputs, attributes, opset, tolerance=2e-5)


CASES = [
    _case("plain", _x(1, 2, 5, 6), _x(3, 2, 3, 3), (3, 4)),
    _case("all", _x(2, 4, 6, 7), _x(6, 4, 3, 2), (6, 8), bias=True, mask=True, pads=[1, 1, 1, 1]),
    _case("bias", _x(1, 2, 5, 5), _x(3, 2, 2, 2), (4, 4), bias=True),
    _case("mask", _x(1, 3, 5, 5), _x(2, 3, 2, 2), (4, 4), mask=True, kernel_shape=[2, 2]),
    _case("strides", _x(1, 2, 9, 8), _x(3, 2, 3, 3), (4, 3), strides=[2, 2], pads=[0, 0, 0, 0]),
    _case("dilations", _x(1, 2, 9, 8), _x(3, 2, 3, 2), (5, 6), dilations=[2, 3], pads=[0, 1, 0, 0]),
    _case("groups", _x(1, 6, 5, 5), _x(4, 3, 3, 3), (5, 5), group=2, pads=[1, 1, 1, 1]),
    _case("offset-groups", _x(2, 6, 5, 5), _x(4, 6, 2, 2), (4, 4), offset_group=3, mask=True),
    _case("each-channel", _x(1, 3, 5, 5), _x(3, 1, 3, 3), (3, 3), group=3, offset_group=3),
    _case("opset-22", _x(1, 2, 5, 5), _x(3, 2, 3, 3), (3, 3), opset=22),
]
