"""Rows of comparisons and of choice."""

from __future__ import annotations

import numpy as np
from op_cases._arrays import SPECIAL, Arrays, scalar
from op_table import Case

a = Arrays(3)

ORDERS = ("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual")
OLD = {"Equal": 7, "Less": 7, "Greater": 7, "LessOrEqual": 12, "GreaterOrEqual": 12}

CASES = [
    *(Case(f"{op.lower()}-float", op, (np.round(a.normal(3, 5)), np.round(a.normal(5)))) for op in ORDERS),
    *(Case(f"{op.lower()}-int64", op, (a.integers(-3, 3, 2, 1, 4), a.integers(-3, 3, 3, 1))) for op in ORDERS),
    *(
        Case(
            f"{op.lower()}-int32",
            op,
            (a.integers(-3, 3, 7, dtype="int32"), scalar(1, "int32")),
            constants=frozenset({1}),
        )
        for op in ORDERS
    ),
    *(Case(f"{op.lower()}-nan", op, (SPECIAL, np.zeros(9, np.float32))) for op in ORDERS),
    *(
        Case(
            f"{op.lower()}-old",
            op,
            (
                a.integers(-2, 2, 3, 4).astype(np.float32 if OLD[op] > 7 or op != "Equal" else np.int64),
                a.integers(-2, 2, 3, 1).astype(np.float32 if OLD[op] > 7 or op != "Equal" else np.int64),
            ),
            opset=OLD[op],
        )
        for op in ORDERS
    ),
    Case("equal-bool", "Equal", (a.bools(3, 4), a.bools(4))),
    Case("equal-rank0", "Equal", (scalar(2, "int64"), scalar(2, "int64"))),
    Case("isnan", "IsNaN", (SPECIAL,)),
    Case("isnan-opset9", "IsNaN", (SPECIAL,), opset=9),
    Case("isinf", "IsInf", (SPECIAL,)),
    Case("isinf-negative", "IsInf", (SPECIAL,), {"detect_positive": 0}),
    Case("isinf-positive", "IsInf", (SPECIAL,), {"detect_negative": 0}, opset=10),
    Case("isinf-none", "IsInf", (SPECIAL,), {"detect_negative": 0, "detect_positive": 0}),
    Case("where", "Where", (a.bools(3, 5), a.normal(3, 5), a.normal(3, 5))),
    Case("where-broadcast", "Where", (a.bools(3, 1), a.normal(5), a.normal(2, 1, 1))),
    Case("where-constants", "Where", (a.bools(3, 5), scalar(1), scalar(-1)), constants=frozenset({1, 2})),
    Case("where-int64", "Where", (a.bools(4), a.integers(-9, 9, 4), a.integers(-9, 9, 1)), opset=9),
    Case(
        "where-uint8",
        "Where",
        (a.bools(2, 2), a.integers(0, 9, 2, dtype="uint8"), a.integers(0, 9, 2, 2, dtype="uint8")),
    ),
    Case("where-rank0", "Where", (scalar(1, "bool"), scalar(1), scalar(2))),
    Case("where-nan-not-chosen", "Where", (np.zeros(9, bool), SPECIAL, np.ones(9, np.float32))),
]
