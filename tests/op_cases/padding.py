"""Rows of Pad and CenterCropPad."""

from __future__ import annotations

from typing import Any

import numpy as np
from op_cases._arrays import Arrays, ints, scalar
from op_table import Array, Case

a = Arrays(10)
PADS = frozenset({1, 2, 3})
MODES = ("constant", "reflect", "edge", "wrap")


def _centred(id: str, t: Array, *shape: int, **attributes: Any) -> Case:
    return Case(f"centercroppad-{id}", "CenterCropPad", (t, ints(*shape)), attributes, 18, constants=frozenset({1}))


_HALVES = a.normal(3, 4).astype(np.float16)
_PADDED = np.pad(_HALVES, ((0, 2), (1, 0)), constant_values=np.float16(1.2))
"""Before opset 11 onnxruntime has float32 alone."""

CASES = [
    *(Case(f"pad-{m}-2d", "Pad", (a.normal(3, 4), ints(1, 2, 2, 3)), {"mode": m}, constants=PADS) for m in MODES),
    *(Case(f"pad-{m}-before", "Pad", (a.normal(4, 5), ints(0, 2, 0, 0)), {"mode": m}, constants=PADS) for m in MODES),
    *(Case(f"pad-{m}-after", "Pad", (a.normal(4, 5), ints(3, 0, 0, 4)), {"mode": m}, constants=PADS) for m in MODES),
    *(
        Case(f"pad-{m}-image", "Pad", (a.normal(1, 2, 4, 5), ints(0, 0, 1, 2, 0, 0, 3, 1)), {"mode": m}, constants=PADS)
        for m in MODES
    ),
    *(
        Case(
            f"pad-{m}-axes",
            "Pad",
            (a.normal(2, 4, 5), ints(1, 2, 2, 1), None, ints(-1, 1)),
            {"mode": m},
            constants=PADS,
        )
        for m in MODES
    ),
    *(Case(f"pad-{m}-none", "Pad", (a.normal(3, 4), ints(0, 0, 0, 0)), {"mode": m}, constants=PADS) for m in MODES),
    *(
        Case(f"pad-{m}-opset7", "Pad", (a.normal(1, 2, 4, 5),), {"mode": m, "pads": [0, 0, 1, 1, 0, 0, 2, 2]}, opset=7)
        for m in MODES[:3]
    ),
    *(
        Case(
            f"pad-{m}-int32",
            "Pad",
            (a.integers(0, 9, 4, dtype="int32"), ints(2, 2)),
            {"mode": m},
            opset=18,
            constants=PADS,
        )
        for m in MODES[:3]
    ),
    Case("pad-value", "Pad", (a.normal(3, 4), ints(1, 0, 0, 2), scalar(7.5)), constants=PADS),
    Case("pad-value-input", "Pad", (a.normal(3, 4), ints(1, 0, 0, 2), scalar(-2)), opset=13, constants=frozenset({1})),
    Case("pad-value-opset10", "Pad", (a.normal(3, 4),), {"pads": [0, 1, 2, 0], "value": 1.25}, opset=10),
    Case("pad-float16-value", "Pad", (_HALVES,), {"pads": [0, 1, 2, 0], "value": 1.2}, opset=10, expected=(_PADDED,)),
    Case("pad-infinite-value", "Pad", (a.normal(3), ints(1, 1), scalar(float("-inf"))), constants=PADS),
    Case("pad-int64-value", "Pad", (a.integers(0, 9, 3), ints(2, 1), scalar(-1, "int64")), opset=11, constants=PADS),
    Case("pad-bool", "Pad", (a.bools(3), ints(2, 1)), opset=13, constants=PADS),
    Case("pad-negative", "Pad", (a.normal(4, 5), ints(-1, 0, 0, -2)), constants=PADS),
    Case("pad-negative-and-positive", "Pad", (a.normal(4, 5), ints(-1, 2, 3, -2), scalar(9)), constants=PADS),
    Case("pad-edge-negative", "Pad", (a.normal(4, 5), ints(-1, 2, 0, -2)), {"mode": "edge"}, constants=PADS),
    Case("pad-constant-empty", "Pad", (a.normal(0, 2), ints(1, 0, 1, 0), scalar(3)), constants=PADS | {0}),
    Case("pad-wrap-twice", "Pad", (a.normal(3), ints(5, 7)), {"mode": "wrap"}, constants=PADS),
    _centred("crop", a.normal(5, 8), 2, 3),
    _centred("pad", a.normal(2, 5), 5, 11),
    _centred("both", a.normal(7, 2, 3), 4, 5, 3),
    _centred("axes", a.normal(2, 7, 4), 3, 9, axes=[-2, 2]),
    _centred("int32", a.integers(-9, 9, 5, 4, dtype="int32"), 4, 7),
    _centred("bool", a.bools(3, 4), 6, 2),
    _centred("to-nothing", a.normal(3, 4), 0, 5),
    _centred("from-nothing", a.normal(0, 4), 3, 2),
]
