"""Rows of conversions and copies."""

from __future__ import annotations

import math

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from op_cases._arrays import SPECIAL, Arrays, scalar
from op_table import Case
from webnn_compile.dtypes import STORAGE_TYPES, StorageType

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


def _as_stored(x: np.ndarray, stored: StorageType, *, saturate: bool) -> np.ndarray:
    """The values by ml_dtypes, which has no saturation."""
    dtype = helper.tensor_dtype_to_np_dtype(next(n for n, t in STORAGE_TYPES.items() if t is stored))
    if stored.format is None:
        return x.astype(np.int32).astype(dtype).astype(stored.held.numpy)
    largest = stored.format.largest if saturate and stored.bits < 16 else np.inf
    return np.clip(x, -largest, largest).astype(dtype).astype(np.float32)


_AROUND = np.concatenate([a.normal(24), a.normal(24) * 2.0**-8, a.normal(24) * 300]).astype(np.float32)
"""Numbers around the least and the largest ones of floats of 8 bits, and halves between them."""

_STORED = [
    Case(
        f"cast-{t.name}{'' if saturate else '-not-saturated'}",
        "Cast",
        (x := np.concatenate([_AROUND, SPECIAL, np.arange(-20, 20, 0.5)]).astype(np.float32),),
        {"to": n, "saturate": int(saturate)},
        expected=(_as_stored(x, t, saturate=saturate),),
    )
    for n, t in STORAGE_TYPES.items()
    for saturate in (True, False)
    if t.format is not None and t.format.mantissa > 1 and (saturate or t.bits == 8)
] + [
    Case(
        f"cast-{t.name}",
        "Cast",
        (x := np.arange(-20, 21, dtype=np.int32),),
        {"to": n},
        25,
        expected=(_as_stored(x, t, saturate=False),),
    )
    for n, t in STORAGE_TYPES.items()
    if t.format is None
]


def _unpacked(number: int, *shape: int) -> Case:
    """The words of a constant of a storage type."""
    stored = STORAGE_TYPES[number]
    rows = shape[-1] % stored.per_word == 0
    packed = (*shape[:-1], shape[-1] // stored.per_word) if rows else (-(-math.prod(shape) // stored.per_word),)
    words = a.integers(0, 1 << (8 * stored.word.bytes), *packed, dtype=stored.word.name)
    raw = words.astype(stored.word.numpy.newbyteorder("<")).tobytes()
    tensor = helper.make_tensor("w", number, shape, raw, raw=True)
    expected = numpy_helper.to_array(tensor).astype(stored.held.numpy)
    name = f"unpack-{stored.name}-{shape[-1]}"
    attributes = {"to": number, "shape": shape}
    return Case(name, "Unpack", (words,), attributes, expected=(expected,), domain="webnn_compile")


_SAME_WIDTHS = (
    *(("float32", "int32"), ("float32", "uint32"), ("uint32", "float32"), ("int32", "uint32")),
    *(("float64", "int64"), ("uint64", "float64"), ("int16", "uint16"), ("bool", "int8")),
)
"""Types whose bits BitCast takes for those of each other."""

CASES = [
    *_STORED,
    *(_unpacked(n, *shape) for n in STORAGE_TYPES for shape in ((3, 8), (3, 5))),
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
    *(
        Case(
            f"bitcast-{source}-to-{to}",
            "BitCast",
            (x,),
            {"to": NUMBERS[to]},
            26,
            expected=(x.view(to),),  # onnxruntime has no opset 26
        )
        for source, to in _SAME_WIDTHS
        for x in (_of(source),)
    ),
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
