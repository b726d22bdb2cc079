"""Element types: one frozen value per type, with its NumPy and ONNX equivalents' names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

Kind = Literal["float", "int", "uint", "bool"]


@dataclass(frozen=True, slots=True, eq=False)
class DType:
    """An element type: there is one object for each, in every process. `bits` is the size in memory; bool takes one
    byte, as in NumPy."""

    name: str
    kind: Kind
    bits: int

    @property
    def bytes(self) -> int:
        return self.bits // 8

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_int(self) -> bool:
        """A signed or unsigned integer (not bool)."""
        return self.kind in ("int", "uint")

    @property
    def numpy(self) -> np.dtype[np.generic]:
        return np.dtype(self.name)

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Callable[[str], DType], tuple[str]]:
        return named, (self.name,)


F16 = DType("float16", "float", 16)
F32 = DType("float32", "float", 32)
F64 = DType("float64", "float", 64)
I8 = DType("int8", "int", 8)
I16 = DType("int16", "int", 16)
I32 = DType("int32", "int", 32)
I64 = DType("int64", "int", 64)
U8 = DType("uint8", "uint", 8)
U16 = DType("uint16", "uint", 16)
U32 = DType("uint32", "uint", 32)
U64 = DType("uint64", "uint", 64)
BOOL = DType("bool", "bool", 8)

ONNX_DTYPES = {1: F32, 2: U8, 3: I8, 4: U16, 5: I16, 6: I32, 7: I64, 9: BOOL, 10: F16, 11: F64, 12: U32, 13: U64}
"""By the numbers of onnx.TensorProto.DataType, as in attributes of nodes."""

ONNX_NUMBERS = {d: number for number, d in ONNX_DTYPES.items()}

DTYPES = {d.name: d for d in (F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, BOOL)}


def named(name: str) -> DType:
    """The element type of a name; KeyError where there is none."""
    return DTYPES[name]


def from_numpy(dtype: np.dtype[np.generic]) -> DType:
    """The DType of a NumPy dtype; KeyError where there is none."""
    return named(np.dtype(dtype).name)


def lowest(dtype: DType) -> int | float:
    """The least finite value's stand-in for "nothing yet" in a maximum: -inf for floats."""
    if dtype.is_float:
        return float("-inf")
    return 0 if dtype.kind != "int" else -(1 << (dtype.bits - 1))


def highest(dtype: DType) -> int | float:
    """The counterpart of `lowest` for a minimum: +inf for floats."""
    if dtype.is_float:
        return float("inf")
    if dtype.kind == "bool":
        return 1
    return (1 << (dtype.bits - (dtype.kind == "int"))) - 1
