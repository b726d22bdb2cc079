"""Rows of the Reduce family, ArgMax and ArgMin."""

from __future__ import annotations

import numpy as np
from op_cases._arrays import LINES, Arrays, ints
from op_table import Array, Case

_a = Arrays(26)


def _positive(*shape: int) -> Array:
    return _a.uniform(0.5, 2, *shape)


INPUT_SINCE = {"ReduceSum": 13}
"""The first opset with axes as an input; 18 for the others."""


def _family(op: str) -> list[Case]:
    name, x = op.lower(), _positive if op == "ReduceLogSum" else _a.normal
    since = INPUT_SINCE.get(op, 18)
    axes = frozenset({1})
    return [
        Case(name, op, (x(2, 3, 5), ints(1)), constants=axes),
        Case(f"{name}-last", op, (x(2, 3, 5), ints(-1)), {"keepdims": 0}, constants=axes),
        Case(f"{name}-several", op, (x(2, 3, 4, 5), ints(-1, 1)), {"keepdims": 0}, since, constants=axes),
        Case(f"{name}-all", op, (x(2, 3, 5),)),
        Case(f"{name}-all-flat", op, (x(2, 3, 5),), {"keepdims": 0}),
        Case(f"{name}-none", op, (x(2, 3), ints()), {"noop_with_empty_axes": 1}, constants=axes),
        Case(f"{name}-empty-axes", op, (x(2, 3), ints()), constants=axes),
        Case(f"{name}-one-element", op, (x(2, 1, 3), ints(1)), constants=axes),
        Case(f"{name}-attribute", op, (x(2, 3, 5),), {"axes": [0, 2]}, since - 1),
        Case(f"{name}-opset-7", op, (x(3, 2, 5),), {"axes": [1], "keepdims": 0}, 7),
    ]


FAMILY = (
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceProd",
    "ReduceSum",
    "ReduceSumSquare",
)


def _integers(op: str, dtype: str) -> Case:
    x = _a.integers(1, 9, 3, 4, dtype=dtype)
    return Case(f"{op.lower()}-{dtype}", op, (x, ints(1)), constants=frozenset({1}))


def _empty(op: str) -> Case:
    return Case(f"{op.lower()}-empty", op, (np.zeros((2, 0, 3), np.float32), ints(1)), constants=frozenset({1}))


SPARSE = np.where(_a.uniform(0, 1, 40, 37) < 0.02, np.float32(np.nan), _a.normal(40, 37))
"""Long enough for vectors and workgroups along both axes."""


def _with_nan(op: str) -> list[Case]:
    """As NumPy has it: onnxruntime passes over a NaN at some places of a line, and not at others."""
    name, extreme = op.lower(), np.max if op.endswith("Max") else np.min
    rows = [("lines", LINES, 1), ("long", SPARSE, 1), ("columns", SPARSE, 0)]
    if op.startswith("Reduce"):
        return [
            Case(
                f"{name}-nan-{what}",
                op,
                (x, ints(axis)),
                constants=frozenset({1}),
                expected=(extreme(x, axis=axis, keepdims=True),),
            )
            for what, x, axis in rows
        ]
    place = np.argmax if op.endswith("Max") else np.argmin
    first = [
        Case(f"{name}-nan-{what}", op, (x,), {"axis": axis, "keepdims": 0}, expected=(place(x, axis=axis),))
        for what, x, axis in rows
    ]
    last = (LINES.shape[1] - 1 - place(LINES[:, ::-1], axis=1),)
    options = {"axis": 1, "keepdims": 0, "select_last_index": 1}
    return [*first, Case(f"{name}-nan-last", op, (LINES,), options, expected=last)]


def _beyond(op: str, wrapped: int) -> Case:
    """Integers wrap, as in onnxruntime 1.20; 1.32 keeps to the nearest."""
    x = np.asarray([2**31 - 1, 2**31 - 1, 5], np.int32)
    return Case(f"{op.lower()}-beyond-int32", op, (x,), {"keepdims": 0}, expected=(np.asarray(wrapped, np.int32),))


def _arg(op: str) -> list[Case]:
    name, ties = op.lower(), np.array([[2, 1, 2, 1], [3, 3, 3, 3]], np.float32)
    return [
        Case(name, op, (_a.normal(3, 5),)),
        Case(f"{name}-axis", op, (_a.normal(2, 3, 5),), {"axis": 1, "keepdims": 0}),
        Case(f"{name}-negative-axis", op, (_a.normal(2, 3, 5),), {"axis": -1}),
        Case(f"{name}-ties", op, (ties,), {"axis": 1}),
        Case(f"{name}-ties-last", op, (ties,), {"axis": 1, "select_last_index": 1}),
        Case(f"{name}-last", op, (_a.normal(2, 3, 5),), {"axis": 2, "select_last_index": 1, "keepdims": 0}),
        Case(f"{name}-1d", op, (_a.normal(7),), {"keepdims": 0}),
        Case(f"{name}-one-element", op, (_a.normal(3, 1),), {"axis": 1}),
        Case(f"{name}-int32", op, (_a.integers(-9, 9, 3, 5, dtype="int32"),), {"axis": 1}),
        Case(f"{name}-uint8", op, (_a.integers(0, 255, 3, 5, dtype="uint8"),), {"axis": 1}),
        Case(f"{name}-opset-7", op, (_a.normal(3, 5),), {"axis": 1}, opset=7),
        Case(f"{name}-opset-11", op, (_a.normal(3, 5),), {"axis": -1}, opset=11),
    ]


CASES = [
    *(case for op in FAMILY for case in _family(op)),
    *(_integers(op, "int32") for op in FAMILY if op not in ("ReduceLogSum", "ReduceLogSumExp")),
    *(_integers(op, "int64") for op in ("ReduceMax", "ReduceMin", "ReduceSum", "ReduceProd")),
    *(_integers(op, "uint8") for op in ("ReduceMax", "ReduceMin")),
    *(_integers(op, "int8") for op in ("ReduceMax", "ReduceMin")),
    *(_empty(op) for op in ("ReduceL1", "ReduceProd", "ReduceSum", "ReduceSumSquare")),
    Case(
        "reducel1-uint32",
        "ReduceL1",
        (np.uint32([[2**31, 2**31 - 1], [7, 0]]), ints(1)),
        constants=frozenset({1}),
        expected=(np.uint32([[2**32 - 1], [7]]),),
    ),
    Case("reducemean-int32-negative", "ReduceMean", (_a.integers(-9, 0, 3, 4, dtype="int32"),)),
    Case("reducemax-bool", "ReduceMax", (_a.bools(4, 3), ints(1)), opset=20, constants=frozenset({1})),
    Case("reducemin-bool", "ReduceMin", (_a.bools(4, 3), ints(0)), opset=20, constants=frozenset({1})),
    Case("reducelogsumexp-large", "ReduceLogSumExp", (_a.normal(2, 5) * 500, ints(1)), constants=frozenset({1})),
    Case("reducelogsumexp-infinite", "ReduceLogSumExp", (np.full((2, 3), -np.inf, np.float32),)),
    Case("reducemean-image", "ReduceMean", (_a.normal(1, 5, 4, 3), ints(2, 3)), constants=frozenset({1})),
    *_arg("ArgMax"),
    *_arg("ArgMin"),
    *(case for op in ("ReduceMax", "ReduceMin", "ArgMax", "ArgMin") for case in _with_nan(op)),
    _beyond("ReduceSum", 3),
    _beyond("ReduceProd", 5),
    # Of keepdims and noop_with_empty_axes only 1 is true.
    *(Case(f"{op.lower()}-keepdims-2", op, (_a.normal(3, 4),), {"keepdims": 2}) for op in ("ReduceSum", "ArgMax")),
    Case("reducelogsumexp-keepdims-2", "ReduceLogSumExp", (_a.normal(3, 4),), {"keepdims": 2}),
    Case("reducemax-noop-2", "ReduceMax", (_a.normal(3, 4),), {"noop_with_empty_axes": 2}),
]
