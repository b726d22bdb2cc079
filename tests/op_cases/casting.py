"""Rows of conversions and copies."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto
from op_cases._arrays import SPECIAL, Arrays, scalar
from op_table import Case

a = Arrays(5)

NUMBERS = {
    "float16": TensorProto.FLOAT16,
    "float32": TensorProto.FLOAT,
    "float64": TensorProto.DOUBLE,
    "int8": TensorProto.INT8,
    "int16": TensorProto.INT16,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
    "uint8": TensorProto.UINT8,
    "uint16": TensorProto.UINT16,
    "uint32": TensorProto.UINT32,
    "uint64": TensorProto.UINT64,
    "bool": TensorProto.BOOL,
}


def _of(dtype: str) -> np.ndarray:
    """Values that every dtype can hold."""
    if dtype == "bool":
        return a.bools(3, 3)
    values = a.uniform(0, 100, 3, 3)
    values[0, 0] = 0
    return values.astype(dtype)


CASES = [
    *(Case(f"cast-{s}-{d}", "Cast", (_of(s),), {"to": n}) for s in NUMBERS for d, n in NUMBERS.items()),
    *(
        Case(f"cast-negative-float32-{d}", "Cast", (a.uniform(-99, 99, 7),), {"to": NUMBERS[d]})
        for d in ("int8", "int16", "int32", "int64", "float16")
    ),
    *(
        Case(f"cast-wrap-int64-{d}", "Cast", (np.asarray([-1, 300, 2**33 + 5, -(2**31) - 7]),), {"to": NUMBERS[d]})
        for d in ("int8", "int16", "int32", "uint8", "uint32")
    ),
    Case("cast-special-bool", "Cast", (SPECIAL,), {"to": TensorProto.BOOL}),
    Case("cast-special-float16", "Cast", (SPECIAL,), {"to": TensorProto.FLOAT16}),
    Case("cast-special-float64", "Cast", (SPECIAL,), {"to": TensorProto.DOUBLE}),
    # Beyond the range of the integer: saturated here, undefined in onnxruntime.
    Case(
        "cast-saturate-int32",
        "Cast",
        (np.asarray([3e9, -3e9, np.inf, -np.inf, np.nan], np.float32),),
        {"to": TensorProto.INT32},
        expected=(np.asarray([2**31 - 1, -(2**31), 2**31 - 1, -(2**31), 0], np.int32),),
    ),
    Case(
        "cast-saturate-uint8",
        "Cast",
        (np.asarray([-5, 255.9, 256, 1e9], np.float32),),
        {"to": TensorProto.UINT8},
        expected=(np.asarray([0, 255, 255, 255], np.uint8),),
    ),
    Case("cast-opset7", "Cast", (a.normal(3, 5),), {"to": TensorProto.INT32}, opset=7),
    Case("cast-rank0", "Cast", (scalar(3.7),), {"to": TensorProto.INT64}),
    Case("cast-empty", "Cast", (a.normal(0, 2),), {"to": TensorProto.INT64}, opset=9, constants=frozenset({0})),
    Case("castlike-int32", "CastLike", (a.uniform(-9, 9, 3, 5), a.integers(0, 1, 1, dtype="int32"))),
    Case("castlike-float", "CastLike", (a.integers(-9, 9, 3), a.normal(2, 2)), opset=15),
    Case("identity", "Identity", (a.normal(3, 1, 5),)),
    Case("identity-rank0", "Identity", (scalar(2, "int64"),), opset=7),
    Case("identity-bool", "Identity", (a.bools(3, 2),), opset=13),
    Case("dropout-opset7", "Dropout", (a.normal(3, 5),), {"ratio": 0.3}, opset=7),
    *(
        Case(f"dropout-opset{v}-mask", "Dropout", (a.normal(3, 5),), {"ratio": 0.3}, opset=v, outputs=2)
        for v in (7, 10)
    ),
    Case("dropout-opset12", "Dropout", (a.normal(3, 5), scalar(0.3)), opset=12, constants=frozenset({1})),
    Case(
        "dropout-mask",
        "Dropout",
        (a.normal(3, 5), scalar(0.3), scalar(0, "bool")),
        constants=frozenset({1, 2}),
        outputs=2,
    ),
]
