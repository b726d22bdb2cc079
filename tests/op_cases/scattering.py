"""Rows of scattered updates."""

from __future__ import annotations

import numpy as np
from op_cases._arrays import NAN, Arrays, ints
from op_table import Case

a = Arrays(15)
KNOWN = frozenset({1})
REDUCTIONS = ("none", "add", "mul", "max", "min")

# Without repetition, because the order of updates of one element is open.
ROWS = np.asarray([[2, 0, -1, 0], [0, 2, 1, 1]])
PLACES = np.asarray([[0, 1], [2, -1], [1, 0]])
REPEATED = np.asarray([[0, 1], [2, -1], [0, 1], [0, 1]])


def _with_nan() -> list[Case]:
    """As NumPy has it: in onnxruntime a NaN is kept or lost by which operand it is."""
    data, updates = np.asarray([[1, NAN, 2, 3], [4, 5, NAN, 6]], np.float32), np.asarray([[NAN, 9, -9, 0]], np.float32)
    index = np.asarray([[0, 0, 1, 1]])
    rows = []
    for name, extreme in (("max", np.maximum), ("min", np.minimum)):
        expected = data.copy()
        expected[index[0], range(4)] = extreme(data[index[0], range(4)], updates[0])
        for c in (frozenset[int](), KNOWN):
            row = f"scatterelements-{name}-nan{'-constant' * len(c)}"
            inputs = (data, index, updates)
            rows.append(Case(row, "ScatterElements", inputs, {"reduction": name}, constants=c, expected=(expected,)))
    return rows


CASES = [
    *(
        Case(
            f"scatterelements-{r}{'-constant' * len(c)}",
            "ScatterElements",
            (a.normal(3, 5), ROWS, a.normal(2, 4)),
            {"reduction": r},
            constants=c,
        )
        for r in REDUCTIONS
        for c in (frozenset(), KNOWN)
    ),
    *_with_nan(),
    Case(
        "scatterelements-axis1",
        "ScatterElements",
        (a.normal(3, 5), np.asarray([[1, 3], [0, -1], [2, 4]]), a.normal(3, 2)),
        {"axis": 1},
        opset=11,
    ),
    Case(
        "scatterelements-negative-axis",
        "ScatterElements",
        (a.normal(2, 3, 5), a.integers(0, 1, 1, 2, 1), a.normal(1, 2, 1)),
        {"axis": -1},
        opset=13,
    ),
    Case(
        "scatterelements-int64",
        "ScatterElements",
        (a.integers(0, 9, 5), ints(4, 0), a.integers(10, 19, 2)),
        constants=KNOWN,
    ),
    Case(
        "scatterelements-repeated-add",
        "ScatterElements",
        (a.normal(3), ints(1, 1, 1, 2), a.normal(4)),
        {"reduction": "add"},
        opset=16,
    ),
    Case("scatter-opset9", "Scatter", (a.normal(3, 5), ROWS, a.normal(2, 4)), opset=9),
    *(
        Case(
            f"scatternd-{r}{'-constant' * len(c)}",
            "ScatterND",
            (a.normal(3, 4), PLACES, a.normal(3)),
            {"reduction": r},
            constants=c,
        )
        for r in REDUCTIONS
        for c in (frozenset(), KNOWN)
    ),
    *(
        Case(f"scatternd-repeated-{r}", "ScatterND", (a.normal(3, 4), REPEATED, a.normal(4)), {"reduction": r})
        for r in REDUCTIONS[1:]
    ),
    Case("scatternd-rows", "ScatterND", (a.normal(4, 3), np.asarray([[3], [1]]), a.normal(2, 3)), opset=11),
    Case(
        "scatternd-rows-constant",
        "ScatterND",
        (a.normal(4, 3, 2), np.asarray([[[3], [1]], [[0], [2]]]), a.normal(2, 2, 3, 2)),
        opset=13,
        constants=KNOWN,
    ),
    Case("scatternd-grid", "ScatterND", (a.normal(3, 4, 2), np.asarray([[[0, 1], [2, 2]]]), a.normal(1, 2, 2))),
    Case(
        "scatternd-nothing",
        "ScatterND",
        (a.normal(3, 4), np.zeros((0, 1), np.int64), a.normal(0, 4)),
        constants=frozenset({1, 2}),
    ),
    Case(
        "scatternd-uint8",
        "ScatterND",
        (a.integers(0, 9, 5, dtype="uint8"), np.asarray([[4], [1]]), a.integers(0, 9, 2, dtype="uint8")),
    ),
    Case("tensorscatter", "TensorScatter", (a.normal(2, 2, 6, 3), a.normal(2, 2, 2, 3), ints(3, 1)), opset=24),
    Case("tensorscatter-from-0", "TensorScatter", (a.normal(2, 6, 3), a.normal(2, 4, 3)), opset=24),
    Case(
        "tensorscatter-circular",
        "TensorScatter",
        (a.normal(3, 5, 4), a.normal(3, 5, 3), ints(3, 0, 2)),
        {"mode": "circular", "axis": 2},
        opset=24,
    ),
]
