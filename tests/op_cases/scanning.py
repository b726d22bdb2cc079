"""Rows of running sums and products."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from op_cases._arrays import Arrays, scalar
from op_table import Array, Case

a = Arrays(13)
AXIS = frozenset({1})
KINDS = list(itertools.product((0, 1), (0, 1)))

_INFINITE = np.zeros((3, 150), np.float32)
_INFINITE[0, 70], _INFINITE[1, 40], _INFINITE[1, 100], _INFINITE[2, 33] = np.inf, np.inf, -np.inf, np.nan


def _long(name: str, x: Array, axis: int, op: str = "CumSum", **attributes: Any) -> Case:
    """A row of lines that are cut into blocks."""
    return Case(f"{op.lower()}-long-{name}", op, (x, scalar(axis, "int64")), attributes, 26, AXIS)


CASES = [
    *(
        Case(
            f"cumsum-{e}{r}",
            "CumSum",
            (a.normal(3, 5), scalar(1, "int64")),
            {"exclusive": e, "reverse": r},
            constants=AXIS,
        )
        for e, r in KINDS
    ),
    *(
        Case(
            f"cumprod-{e}{r}",
            "CumProd",
            (a.uniform(0.5, 1.5, 3, 5), scalar(1, "int64")),
            {"exclusive": e, "reverse": r},
            opset=26,
            constants=AXIS,
        )
        for e, r in KINDS
    ),
    Case("cumsum-of-one", "CumSum", (a.normal(5, 1), scalar(1, "int64")), {"reverse": 1}, constants=AXIS),
    Case("cumsum-of-one-exclusive", "CumSum", (a.normal(5, 1), scalar(1, "int64")), {"exclusive": 1}, constants=AXIS),
    Case("cumsum-axis0", "CumSum", (a.normal(4, 2, 3), scalar(0, "int32")), opset=11, constants=AXIS),
    Case("cumsum-negative-axis", "CumSum", (a.integers(-9, 9, 2, 7), scalar(-1, "int64")), constants=AXIS),
    Case(
        "cumsum-1d", "CumSum", (a.integers(-9, 9, 9, dtype="int32"), scalar(0, "int64")), {"reverse": 1}, constants=AXIS
    ),
    *(
        Case(f"cumsum-axis{axis}-of-a-run", "CumSum", (a.normal(2, 3, 4), scalar(axis, "int64")), {"exclusive": 1})
        for axis in (1, -3)
    ),
    *(_long(f"{e}{r}", a.normal(2, 147), 1, exclusive=e, reverse=r) for e, r in KINDS),
    *(_long(f"first-axis-{e}{r}", a.integers(-9, 9, 96, 3), 0, exclusive=e, reverse=r) for e, r in KINDS[::3]),
    _long("middle-axis", a.normal(2, 97, 5), 1, exclusive=1),
    _long("blocks-of-blocks", a.integers(-9, 9, 2113, dtype="int32"), 0, exclusive=1, reverse=1),
    _long("infinite", _INFINITE, 1),
    _long("infinite-exclusive", _INFINITE, 1, exclusive=1, reverse=1),
    _long("uniform", a.uniform(0.9, 1.1, 3, 130), 1, "CumProd", reverse=1),
    Case("cumsum-long-axis-of-a-run", "CumSum", (a.normal(3, 80), scalar(1, "int64")), {"reverse": 1}),
]
