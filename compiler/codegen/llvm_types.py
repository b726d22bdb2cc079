"""LLVM's spelling of types and constants."""

from __future__ import annotations

import struct

import numpy as np

from ..dtypes import DType

_SCALARS = {"float32": "float", "float64": "double", "float16": "half", "bool": "i1"}


def llvm_type(dtype: DType, lanes: int = 1) -> str:
    """The type of a value in a register."""
    scalar = _SCALARS.get(dtype.name) or f"i{dtype.bits}"
    return scalar if lanes == 1 else f"<{lanes} x {scalar}>"


def memory_type(dtype: DType, lanes: int = 1) -> str:
    """The type of a value in memory: bool takes a byte."""
    scalar = "i8" if dtype.name == "bool" else llvm_type(dtype)
    return scalar if lanes == 1 else f"<{lanes} x {scalar}>"


def literal(value: int | float | bool, dtype: DType) -> str:
    """A constant; floats as the bits of a double, which is LLVM's syntax."""
    if dtype.name == "bool":
        return "true" if value else "false"
    if dtype.is_float:
        rounded = float(np.asarray(value, dtype.numpy)) if dtype.name != "float64" else float(value)
        bits = struct.unpack(">Q", struct.pack(">d", rounded))[0]
        if dtype.name == "float16":
            return f"0xH{np.asarray(value, np.float16).view(np.uint16):04X}"
        return f"0x{bits:016X}"
    number = int(value)
    if dtype.kind == "uint" and number >= 1 << (dtype.bits - 1):
        number -= 1 << dtype.bits
    return str(number)
