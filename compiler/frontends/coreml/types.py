"""Element types of Core ML, in programs and as those of inputs and outputs."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np
from onnx import helper

from ...errors import UnsupportedError

_INTEGERS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
VALUE_TYPES = ("float16", "float32", "float64", *_INTEGERS, "bool")
"""Types that values may have."""

DATA_TYPES: Mapping[int, str] = {
    1: "bool",
    2: "string",
    10: "float16",
    11: "float32",
    12: "float64",
    13: "bfloat16",
    21: "int8",
    22: "int16",
    23: "int32",
    24: "int64",
    25: "int4",
    31: "uint8",
    32: "uint16",
    33: "uint32",
    34: "uint64",
    35: "uint4",
    36: "uint2",
    37: "uint1",
    38: "uint6",
    39: "uint3",
    40: "float8e4m3fn",
    41: "float8e5m2",
}
"""`DataType` of MIL.proto."""

NAMES: Mapping[str, str] = {
    "fp16": "float16",
    "fp32": "float32",
    "fp64": "float64",
    **{name: name for name in VALUE_TYPES},
}
"""Types as operators of a program name them in words."""

ARRAY_TYPES: Mapping[int, str] = {
    65552: "float16",
    65568: "float32",
    65600: "float64",
    131080: "int8",
    131104: "int32",
}
"""`ArrayDataType` of FeatureTypes.proto."""

_BITS = {"uint1": 1, "uint2": 2, "uint3": 3, "uint4": 4, "uint6": 6, "int4": 4}
"""Types whose elements are packed, the first in the lowest bits."""


def onnx_type(dtype: str) -> int:
    """Raises UnsupportedError for types that are no value's."""
    if dtype not in VALUE_TYPES:
        raise UnsupportedError(f"elements of type {dtype} are not supported")
    return int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


def real_type(dtype: str) -> str:
    """The type that a value of a program is computed in."""
    return "float32" if dtype == "float16" else dtype


def decode(data: bytes, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """The elements of a constant; narrow ones in a byte each. Raises ValueError where they are not so many."""
    if dtype in _BITS:
        values = unpacked(data, _BITS[dtype], shape)
        return ((values ^ 8).astype(np.int8) - 8).astype(np.int8) if dtype == "int4" else values
    if dtype == "bfloat16":
        wide = np.frombuffer(data, np.uint16).astype(np.uint32) << 16
        return wide.view(np.float32).reshape(shape)
    if dtype.startswith("float8"):
        raise UnsupportedError(f"constants of type {dtype} are not supported; convert the model without them")
    return np.frombuffer(data, np.dtype(dtype).newbyteorder("<")).astype(dtype, copy=False).reshape(shape)


def unpacked(data: bytes, bits: int, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers of so many bits in a row, the first in the lowest ones, as uint8. Raises ValueError where some lack."""
    count = prod(shape)
    if count * bits > 8 * len(data):
        raise ValueError(f"{len(data)} bytes hold no {count} elements of {bits} bits")
    single = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little", count=count * bits).reshape(count, bits)
    return np.asarray((single << np.arange(bits, dtype=np.uint8)).sum(1, dtype=np.uint8)).reshape(shape)
