"""Conversions between the model's element types and those that a device has."""

from __future__ import annotations

import numpy as np

from ..dtypes import BOOL, F16, I64, DType
from ..errors import InputError

Array = np.ndarray

LARGEST = float(np.finfo(np.float16).max)


def to_device(data: Array, dtype: DType, device: DType, what: str) -> Array:
    """Elements of the model's `dtype` converted to the `device`'s type, flat. Numbers beyond float16 become its largest
    one, as kernels store them. Raises InputError, which names `what` has it, for an int64 element beyond int32."""
    if dtype == I64 and data.size and not (int(data.min()) >= -(2**31) and int(data.max()) < 2**31):
        raise InputError(
            f"{what} has an element beyond int32, which the device cannot hold; targets wasm and native have 64 bits"
        )
    if device == F16 and dtype != F16:
        data = np.where(np.isinf(data), data, np.clip(data, -LARGEST, LARGEST))
    return np.ascontiguousarray(data, device.numpy).reshape(-1)


def from_device(elements: Array, dtype: DType) -> Array:
    """The inverse of `to_device`."""
    if dtype == BOOL:
        return np.asarray(elements != 0)
    with np.errstate(over="ignore" if dtype == F16 else "warn"):
        return elements.astype(dtype.numpy)
