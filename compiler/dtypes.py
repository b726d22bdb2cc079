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


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """A float of few bits: a sign, exponent and mantissa of so many bits, and the exponent's bias. `specials` are
    infinities and NaN as in IEEE 754, NaN alone with all bits set ("fn"), NaN alone in place of -0 ("fnuz"), or none.
    Without a mantissa it is a power of two without sign, and NaN with all bits set."""

    exponent: int
    mantissa: int
    bias: int
    specials: Literal["ieee", "fn", "fnuz", "none"]

    @property
    def largest(self) -> float:
        """The largest finite number."""
        values = self.values()
        return float(values[np.isfinite(values)].max())

    def values(self) -> np.ndarray:
        """float32 of each pattern of bits, in order."""
        if not self.mantissa:
            powers = np.exp2(np.arange(1 << self.exponent, dtype=np.float64) - self.bias)
            powers[-1] = np.nan
            return powers.astype(np.float32)
        half = np.arange(1 << (self.exponent + self.mantissa))
        exponent, mantissa = half >> self.mantissa, half & ((1 << self.mantissa) - 1)
        scale = np.exp2(np.maximum(exponent, 1).astype(np.float64) - self.bias - self.mantissa)
        size = (mantissa + np.where(exponent > 0, 1 << self.mantissa, 0)) * scale
        if self.specials == "ieee":
            size[exponent == exponent[-1]] = np.nan
            size[half == exponent[-1] << self.mantissa] = np.inf
        elif self.specials == "fn":
            size[-1] = np.nan
        both = np.concatenate([size, -size])
        if self.specials == "fnuz":
            both[half.size] = np.nan
        return both.astype(np.float32)


@dataclass(frozen=True, slots=True)
class StorageType:
    """An element type of ONNX in which models store tensors, and which is wider where it is computed with. `bits` of an
    element in the file, `held` the type that represents it elsewhere, and its `format` if it is a float."""

    name: str
    bits: int
    held: DType
    format: FloatFormat | None = None

    @property
    def per_word(self) -> int:
        """Elements in a byte; 1 where one takes a byte or more."""
        return max(8 // self.bits, 1)

    @property
    def span(self) -> tuple[int, int]:
        """The least and the largest of integers."""
        low = -(1 << (self.bits - 1)) if self.held.kind == "int" else 0
        return low, low + (1 << self.bits) - 1

    @property
    def word(self) -> DType:
        """The type of what elements are packed into, the first in its lowest bits."""
        return U16 if self.bits > 8 else U8


STORAGE_TYPES = {
    16: StorageType("bfloat16", 16, F32, FloatFormat(8, 7, 127, "ieee")),
    17: StorageType("float8e4m3fn", 8, F32, FloatFormat(4, 3, 7, "fn")),
    18: StorageType("float8e4m3fnuz", 8, F32, FloatFormat(4, 3, 8, "fnuz")),
    19: StorageType("float8e5m2", 8, F32, FloatFormat(5, 2, 15, "ieee")),
    20: StorageType("float8e5m2fnuz", 8, F32, FloatFormat(5, 2, 16, "fnuz")),
    21: StorageType("uint4", 4, U8),
    22: StorageType("int4", 4, I8),
    23: StorageType("float4e2m1", 4, F32, FloatFormat(2, 1, 1, "none")),
    24: StorageType("float8e8m0", 8, F32, FloatFormat(8, 0, 127, "fn")),
    25: StorageType("uint2", 2, U8),
    26: StorageType("int2", 2, I8),
}
"""By the numbers of onnx.TensorProto.DataType, too."""


def storage_type(number: object) -> StorageType | None:
    """The storage type that an attribute names; None for other types, and without the attribute."""
    return STORAGE_TYPES.get(number) if isinstance(number, int) else None


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
