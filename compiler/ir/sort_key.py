"""Floats as integers in the order of the numbers, for targets whose compilers take liberties with NaN and subnormal
numbers, and for what combines integers alone."""

from __future__ import annotations

from ..dtypes import F32, F64, I32, I64, DType, highest, lowest
from .construct import select, unary
from .nodes import Bitcast, Expr


def sort_key(x: Expr, nan_lowest: bool = False) -> Expr:
    """The key by which elements are sorted: integers themselves; of floats integers in their order, one for both zeros,
    NaN equal to NaN and above infinity, as NumPy sorts, or below -infinity. Comparisons of floats are no order where
    there is a NaN."""
    if not x.dtype.is_float:
        return x
    whole = _whole(x.dtype)
    bits = Bitcast(whole, x if x.dtype == F64 else x.cast(F32))
    most = highest(whole)
    return select(unary("isnan", x), -most if nan_lowest else most, select(bits < 0, -(bits & most), bits))


def from_sort_key(key: Expr, dtype: DType) -> Expr:
    """The element of `dtype` that has this `sort_key`; of -0 it is 0."""
    if not dtype.is_float:
        return key
    whole = _whole(dtype)
    bits = select(key < 0, -key | lowest(whole), key)
    return Bitcast(F64, bits) if dtype == F64 else Bitcast(F32, bits).cast(dtype)


def _whole(dtype: DType) -> DType:
    return I64 if dtype == F64 else I32
