"""Rows of Softmax, LogSoftmax and Hardmax."""

from __future__ import annotations

import numpy as np
from op_cases._arrays import LINES, Arrays
from op_table import Case

_a = Arrays(25)
_x = _a.normal


def _family(op: str) -> list[Case]:
    name = op.lower()
    return [
        Case(name, op, (_x(3, 7),)),
        Case(f"{name}-axis", op, (_x(2, 5, 3),), {"axis": 1}),
        Case(f"{name}-first-axis", op, (_x(4, 3),), {"axis": 0}),
        Case(f"{name}-negative-axis", op, (_x(2, 3, 4, 2),), {"axis": -2}),
        Case(f"{name}-1d", op, (_x(9),)),
        Case(f"{name}-one-element", op, (_x(3, 1),)),
        Case(f"{name}-large", op, (_x(2, 5) * 1000,)),
        Case(f"{name}-equal", op, (np.full((2, 4), 3, np.float32),)),
        Case(f"{name}-opset-12", op, (_x(2, 3, 4),), opset=12),
        Case(f"{name}-opset-11-axis", op, (_x(2, 3, 4),), {"axis": 2}, opset=11),
        Case(f"{name}-opset-7-axis", op, (_x(2, 3, 2, 2),), {"axis": 1}, opset=7),
        Case(f"{name}-opset-11-first-axis", op, (_x(2, 3),), {"axis": 0}, opset=11),
        Case(f"{name}-opset-11-negative-axis", op, (_x(2, 3, 4),), {"axis": -2}, opset=11),
    ]


CASES = [
    *_family("Softmax"),
    *_family("LogSoftmax"),
    *_family("Hardmax"),
    *(
        Case(f"{op.lower()}-float64", op, (_a.normal(3, 7).astype(np.float64),), tolerance=1e-14)
        for op in ("Softmax", "LogSoftmax")
    ),
    *(Case(f"{op.lower()}-nan", op, (LINES,)) for op in ("Softmax", "LogSoftmax")),
    # As NumPy's argmax: in onnxruntime a line with a NaN has its 1 elsewhere, or none.
    Case("hardmax-nan", "Hardmax", (LINES,), expected=(np.eye(4, dtype=np.float32)[np.argmax(LINES, 1)],)),
]
