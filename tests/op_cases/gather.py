"""Rows of elements chosen by index."""

from __future__ import annotations

import numpy as np
from op_cases._arrays import Arrays, ints, scalar
from op_table import Case

a = Arrays(11)
KNOWN = frozenset({1})

GATHERS = {
    "rows": ((5, 3), 0, ints(4, 0, 2)),
    "columns": ((5, 3), 1, ints(2, 2, 0, 1)),
    "negative-axis": ((2, 5, 3), -2, ints(3, 1)),
    "negative-indices": ((5, 3), 0, ints(-1, 2, -5)),
    "matrix": ((5, 3), 0, np.asarray([[0, 1], [4, -2], [3, 3]])),
    "scalar": ((5, 3), 0, np.asarray(2)),
    "scalar-negative": ((5, 3), 1, np.asarray(-1)),
    "from-1d": ((7,), 0, ints(6, 1)),
    "int32": ((5, 3), 0, ints(1, 0).astype(np.int32)),
    "progression": ((9, 2), 0, ints(1, 3, 5, 7)),
    "descending": ((5, 2), 0, ints(4, 3, 2, 1, 0)),
    "one": ((5, 3), 1, ints(2)),
    "empty": ((5, 3), 0, ints()),
}

CASES = [
    *(
        Case(f"gather-{name}", "Gather", (a.normal(*shape), index), {"axis": axis})
        for name, (shape, axis, index) in GATHERS.items()
        if index.size
    ),
    *(
        Case(f"gather-{name}-constant", "Gather", (a.normal(*shape), index), {"axis": axis}, constants=KNOWN)
        for name, (shape, axis, index) in GATHERS.items()
    ),
    Case("gather-opset7", "Gather", (a.normal(4, 3), ints(1, 3)), opset=7),
    Case("gather-embedding", "Gather", (a.normal(11, 4), a.integers(0, 11, 2, 3)), opset=13, constants=frozenset({0})),
    Case("gather-int64-data", "Gather", (ints(1, 3, 224, 224), scalar(2, "int64")), constants=KNOWN),
    Case("gatherelements", "GatherElements", (a.normal(3, 4), a.integers(-3, 3, 2, 4)), {"axis": 0}),
    Case("gatherelements-axis1", "GatherElements", (a.normal(3, 4), a.integers(-4, 4, 3, 6)), {"axis": 1}, opset=11),
    Case(
        "gatherelements-negative-axis", "GatherElements", (a.normal(2, 3, 4), a.integers(0, 4, 2, 2, 2)), {"axis": -1}
    ),
    Case("gatherelements-constant", "GatherElements", (a.normal(3, 4), a.integers(-3, 3, 3, 4)), constants=KNOWN),
    Case("gathernd-elements", "GatherND", (a.normal(3, 4), np.asarray([[0, 1], [-1, -4], [2, 3]]))),
    Case("gathernd-rows", "GatherND", (a.normal(3, 4, 2), np.asarray([[1], [-3]])), opset=11),
    Case("gathernd-3d", "GatherND", (a.normal(3, 4, 2), a.integers(0, 3, 2, 5, 2))),
    Case("gathernd-batch", "GatherND", (a.normal(2, 3, 4), a.integers(-3, 3, 2, 1)), {"batch_dims": 1}, opset=12),
    Case("gathernd-batch2", "GatherND", (a.normal(2, 3, 4), a.integers(0, 4, 2, 3, 2, 1)), {"batch_dims": 2}, opset=13),
    Case("gathernd-constant", "GatherND", (a.normal(3, 4), np.asarray([[0, -1], [2, 3]])), constants=KNOWN),
    Case("onehot", "OneHot", (ints(0, 2, 4), scalar(5, "int64"), np.asarray([0, 1], np.float32)), constants=KNOWN),
    Case(
        "onehot-axis0",
        "OneHot",
        (np.asarray([[1, 0], [2, 1]]), scalar(3, "int64"), np.asarray([-1, 2], np.float32)),
        {"axis": 0},
        constants=frozenset({1, 2}),
    ),
    Case(
        "onehot-axis1",
        "OneHot",
        (a.integers(0, 4, 2, 3), scalar(4, "int64"), np.asarray([0, 1], np.int64)),
        {"axis": 1},
        constants=KNOWN,
    ),
    Case(
        "onehot-negative",
        "OneHot",
        (ints(-1, -4, 0), scalar(4, "int64"), np.asarray([0, 1], np.float32)),
        {"axis": -1},
        constants=KNOWN,
    ),
    Case(
        "onehot-out-of-range",
        "OneHot",
        (ints(-9, 9, 2**32 + 1), ints(3), np.asarray([0, 1], np.float32)),
        constants=KNOWN,
    ),
    Case(
        "onehot-float-indices",
        "OneHot",
        (np.asarray([1, 2], np.float32), scalar(3), np.asarray([0, 1], np.float32)),
        opset=9,
        constants=KNOWN,
    ),
]
