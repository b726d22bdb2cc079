"""Rows of joining and cutting."""

from __future__ import annotations

from op_cases._arrays import Arrays, ints
from op_table import Case

a = Arrays(8)
SIZES = frozenset({1})

CASES = [
    *(
        Case(f"concat-axis{axis}", "Concat", (a.normal(2, 3, 4), a.normal(2, 3, 4)), {"axis": axis})
        for axis in (-3, -1, 0, 1, 2)
    ),
    Case("concat-one", "Concat", (a.normal(2, 3),), {"axis": 1}),
    Case("concat-three", "Concat", (a.normal(2, 3, 2), a.normal(2, 1, 2), a.normal(2, 5, 2)), {"axis": 1}, opset=7),
    Case("concat-channels", "Concat", tuple(a.normal(1, c, 3, 3) for c in (8, 4, 4, 2)), {"axis": 1}, opset=11),
    Case(
        "concat-empty-part",
        "Concat",
        (a.normal(2, 0), a.normal(2, 3), a.normal(2, 0)),
        {"axis": 1},
        constants=frozenset({0, 2}),
    ),
    Case("concat-empty", "Concat", (a.normal(0, 2), a.normal(0, 2)), {"axis": 0}, constants=frozenset({0, 1})),
    Case("concat-constant", "Concat", (a.normal(2, 3), a.normal(1, 3)), {"axis": 0}, constants=frozenset({1})),
    Case("concat-int64", "Concat", (a.integers(0, 9, 2), a.integers(0, 9, 3)), {"axis": 0}),
    Case("concat-bool", "Concat", (a.bools(2, 2), a.bools(2, 1)), {"axis": -1}),
    Case("split-sizes", "Split", (a.normal(2, 7), ints(3, 4)), {"axis": 1}, constants=SIZES, outputs=2),
    Case(
        "split-sizes-negative-axis",
        "Split",
        (a.normal(2, 6, 3), ints(1, 3, 2)),
        {"axis": -2},
        opset=13,
        constants=SIZES,
        outputs=3,
    ),
    Case("split-sizes-of-a-run", "Split", (a.normal(2, 7), ints(3, 0, 4)), {"axis": 1}, outputs=3),
    Case("split-with-nothing", "Split", (a.normal(4), ints(0, 4)), constants=SIZES, outputs=2),
    Case("split-equal-opset13", "Split", (a.normal(6, 2),), opset=13, outputs=3),
    Case("split-num-outputs", "Split", (a.normal(2, 6),), {"axis": 1, "num_outputs": 2}, outputs=2),
    Case("split-num-outputs-uneven", "Split", (a.normal(7, 2),), {"num_outputs": 3}, opset=18, outputs=3),
    Case("split-opset7-attribute", "Split", (a.normal(2, 6),), {"axis": 1, "split": [2, 4]}, opset=7, outputs=2),
    Case("split-opset11-equal", "Split", (a.normal(2, 6),), {"axis": -1}, opset=11, outputs=2),
    Case("split-one", "Split", (a.integers(0, 9, 5),), {"num_outputs": 1}),
]
