"""Shapes and types of elements (sections IV.A.2.b and IV.A.2.d)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from math import prod

import numpy as np

from .cursor import Cursor, Unsupported

_NULL = 2
_FLOATS = {(2, 5, 10), (4, 8, 23), (8, 11, 52)}
"""By the bytes of an element, the bits of its exponent and of its fraction."""


class Class(IntEnum):
    """Classes of elements that are read."""

    INTEGER = 0
    REAL = 1
    TEXT = 3
    OPAQUE = 5
    ENUMERATION = 8
    VARIABLE = 9


@dataclass(frozen=True, slots=True)
class Datatype:
    """Elements of `size` bytes: numbers have `numpy`, texts of one length only their size. `is_variable` of texts whose
    bytes are in a heap, `is_bfloat16` of numbers that NumPy lacks."""

    size: int
    numpy: np.dtype | None = None
    is_variable: bool = False
    is_bfloat16: bool = False


def read_shape(at: Cursor) -> tuple[int, ...] | None:
    """The extents of a dataspace; none of a scalar, None where it has no elements at all."""
    version, rank = at.number(1), at.number(1)
    at.take(1)
    if version == 1:
        at.take(5)
    elif version != 2:
        raise ValueError(f"there is a dataspace of version {version}")
    elif at.number(1) == _NULL:
        return None
    return tuple(at.number(8) for _ in range(rank))


def count_of(shape: tuple[int, ...] | None) -> int:
    return 0 if shape is None else prod(shape)


def read_type(at: Cursor) -> Datatype:
    """Raises Unsupported for elements that are neither numbers nor texts."""
    kind = at.number(1) & 15
    bits, size = at.number(3), at.number(4)
    order = ">" if bits & 1 else "<"
    match kind:
        case Class.INTEGER if size in (1, 2, 4, 8):
            return Datatype(size, np.dtype(f"{order}{'i' if bits & 8 else 'u'}{size}"))
        case Class.REAL:
            at.take(5)
            exponent = at.number(1)
            at.take(1)
            return _real(size, exponent, at.number(1), order)
        case Class.TEXT if size:
            return Datatype(size)
        case Class.OPAQUE if size == 2:  # as h5py writes the type of the package ml_dtypes
            return Datatype(size, np.dtype("<u2"), is_bfloat16=True)
        case Class.ENUMERATION:
            base = read_type(at)
            return Datatype(1, np.dtype(bool)) if bits & 0xFFFF == 2 and size == 1 else base
        case Class.VARIABLE if bits & 15 == 1 and size == 16:
            return Datatype(size, is_variable=True)
    raise Unsupported(f"elements of class {kind}, of {size} bytes each")


def _real(size: int, exponent: int, fraction: int, order: str) -> Datatype:
    """The type of floats that have so many bits of exponent and of fraction."""
    if (size, exponent, fraction) == (2, 8, 7):
        return Datatype(size, np.dtype(f"{order}u2"), is_bfloat16=True)
    if (size, exponent, fraction) not in _FLOATS:
        raise Unsupported(f"reals of {size} bytes with {exponent} bits of exponent")
    return Datatype(size, np.dtype(f"{order}f{size}"))
