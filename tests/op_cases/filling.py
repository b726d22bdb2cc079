"""Rows of tensors made from shapes and numbers."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, numpy_helper
from op_cases._arrays import Arrays, ints, scalar
from op_table import Case

a = Arrays(12)


def _value(v: float, dtype: str) -> TensorProto:
    return numpy_helper.from_array(np.asarray([v], dtype))


RANGES = {
    "int64": (1, 10, 2, "int64"),
    "int32-down": (10, -3, -4, "int32"),
    "float": (0.5, 3, 0.3, "float32"),
    "float-down": (2, 0, -0.5, "float32"),
    "nothing": (5, 5, 1, "int64"),
    "wrong-way": (5, 1, 1, "int64"),
}

CASES = [
    Case("constantofshape-default", "ConstantOfShape", (ints(2, 3),), constants=frozenset({0})),
    Case(
        "constantofshape-int64",
        "ConstantOfShape",
        (ints(2, 3, 1),),
        {"value": _value(7, "int64")},
        opset=9,
        constants=frozenset({0}),
    ),
    Case("constantofshape-bool", "ConstantOfShape", (ints(5),), {"value": _value(1, "bool")}, constants=frozenset({0})),
    Case(
        "constantofshape-rank0",
        "ConstantOfShape",
        (ints(),),
        {"value": _value(2.5, "float32")},
        constants=frozenset({0}),
    ),
    Case("constantofshape-empty", "ConstantOfShape", (ints(0, 3),), constants=frozenset({0})),
    Case("eyelike", "EyeLike", (a.normal(3, 4),)),
    Case("eyelike-k", "EyeLike", (a.integers(0, 9, 4, 3, dtype="int32"),), {"k": 1}, opset=9),
    Case("eyelike-far", "EyeLike", (a.normal(3, 4),), {"k": 2**32 + 1}, opset=9),
    Case("eyelike-dtype", "EyeLike", (a.normal(3, 3),), {"k": -1, "dtype": TensorProto.INT64}),
    *(
        Case(f"range-{n}", "Range", tuple(scalar(v, dtype) for v in vs), constants=frozenset({0, 1, 2}))
        for n, (*vs, dtype) in RANGES.items()
    ),
    *(
        Case(f"range-by-{n}-of-a-run", "Range", tuple(scalar(v, "int64") for v in vs), constants=frozenset({0, 1}))
        for n, vs in {"3": (0, 10, 3), "minus-2": (9, -4, -2), "more": (3, 5, 99), "back": (3, 5, -1)}.items()
    ),
    Case(
        "range-opset11", "Range", tuple(scalar(v, "int32") for v in (0, 7, 3)), opset=11, constants=frozenset({0, 1, 2})
    ),
    Case("shape", "Shape", (a.normal(2, 3, 5),)),
    Case("shape-rank0", "Shape", (scalar(1),)),
    Case("shape-opset7", "Shape", (a.normal(1, 3, 2, 4),), opset=7),
    Case("shape-start", "Shape", (a.normal(2, 3, 5),), {"start": 1}, opset=15),
    Case("shape-start-end", "Shape", (a.normal(2, 3, 5, 7),), {"start": -3, "end": -1}),
    Case("shape-clamped", "Shape", (a.normal(2, 3),), {"start": -9, "end": 9}),
    Case("shape-nothing", "Shape", (a.normal(2, 3),), {"start": 1, "end": 1}),
    Case("size", "Size", (a.normal(2, 3, 5),)),
    Case("size-rank0", "Size", (scalar(1),), opset=7),
    Case("size-empty", "Size", (a.normal(2, 0),), opset=13, constants=frozenset({0})),
]
