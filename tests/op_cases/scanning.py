"""Rows of running sums and products."""

from __future__ import annotations

import itertools

from op_cases._arrays import Arrays, scalar
from op_table import Case

a = Arrays(13)
AXIS = frozenset({1})
KINDS = list(itertools.product((0, 1), (0, 1)))

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
]
