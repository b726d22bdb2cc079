"""Rows of Det."""

from __future__ import annotations

import numpy as np
from op_cases._arrays import Arrays
from op_table import Array, Case

_a = Arrays(95)
_x = _a.normal


def _case(id: str, x: Array) -> Case:
    return Case(f"det-{id}", "Det", (x,), opset=22, tolerance=2e-5)


_CROSSED = np.asarray([[0, 0, 0, 1], [0, 0, 2, 0], [0, 3, 0, 0], [4, 5, 6, 7]], np.float32)
"""A diagonal of zeros, so that every pivot stands below it."""

CASES = [
    _case("0", _x(2, 0, 0)),
    _case("1", _x(3, 1, 1)),
    _case("2", _x(2, 2)),
    _case("3", _x(2, 4, 3, 3)),
    _case("4", _x(3, 4, 4)),
    _case("7", _x(5, 7, 7)),
    _case("12", _x(12, 12) * np.float32(0.4)),
    _case("zeros-on-the-diagonal", _CROSSED),
    _case("singular", np.stack([_CROSSED[[0, 0, 2, 3]], _CROSSED * 0])),
    _case("float64", _x(2, 5, 5).astype(np.float64)),
]
