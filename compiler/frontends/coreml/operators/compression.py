"""Constants that are stored in fewer bits: their elements are computed here."""

from __future__ import annotations

from math import prod

import numpy as np

from ..call import Call, Handler
from ..read_value import Value
from ..types import NAMES, unpacked


def _constant(call: Call, data: np.ndarray) -> Value:
    dtype = call.result().dtype
    return Value(dtype, data.shape, data.astype(dtype))


def _affine_dequantize(call: Call) -> Value:
    """Scales and zero points are one number, or one for each index of an axis."""
    data, axis = call.constant("quantized_data"), call.integer("axis", 0)

    def spread(name: str) -> np.ndarray:
        values = np.asarray(call.constant(name), np.float32)
        shape = [1] * data.ndim
        if values.size > 1:
            shape[axis] = -1
        return values.reshape(shape)

    return _constant(call, (data - spread("zero_point")) * spread("scale"))


def _blockwise_shift_scale(call: Call) -> Value:
    data, scale = call.constant("data").astype(np.float32), call.constant("scale").astype(np.float32)
    if call.has("offset"):
        data = data - _repeated(call.constant("offset").astype(np.float32), data.shape)
    return _constant(call, data * _repeated(scale, data.shape))


def _repeated(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Each of `values` stands for a block of elements."""
    for axis, (count, n) in enumerate(zip(values.shape, shape, strict=True)):
        if n % count:
            raise ValueError(f"{count} scales for {n} elements")
        values = np.repeat(values, n // count, axis)
    return values


def _lut_to_dense(call: Call) -> Value:
    lut = call.constant("lut")
    if call.has("shape"):  # packed places in one table
        shape = tuple(call.ints("shape"))
        return _constant(
            call, lut[unpacked(call.constant("indices").tobytes(), max(lut.size.bit_length() - 1, 1), shape)]
        )
    indices = call.constant("indices").astype(np.int64)
    groups, width = lut.shape[:-2], lut.shape[-1]
    table = lut.reshape(-1, *lut.shape[-2:])
    group = _repeated(np.arange(prod(groups)).reshape(groups), indices.shape)
    found = table[group, indices]  # ..., width
    if width == 1:
        return _constant(call, found[..., 0])
    axis = call.integer("vector_axis") % indices.ndim
    moved = np.moveaxis(found, -1, axis + 1)
    return _constant(call, moved.reshape([n * (width if i == axis else 1) for i, n in enumerate(indices.shape)]))


def _sparse_to_dense(call: Call) -> Value:
    mask, values = call.constant("mask"), call.constant("nonzero_data")
    is_set = unpacked(mask.tobytes(), 1, tuple(call.ints("shape"))) if call.has("shape") else mask
    dense = np.zeros(is_set.shape, values.dtype)
    dense[is_set != 0] = values.reshape(-1)
    return _constant(call, dense)


def _cast(call: Call) -> Value:
    dtype = NAMES.get(call.text("output_dtype", "fp32"), "float32")
    return _constant(call, call.constant("source_val").astype(dtype))


OPERATORS: dict[str, Handler] = {
    "constexpr_affine_dequantize": _affine_dequantize,
    "constexpr_blockwise_shift_scale": _blockwise_shift_scale,
    "constexpr_cast": _cast,
    "constexpr_lut_to_dense": _lut_to_dense,
    "constexpr_sparse_to_dense": _sparse_to_dense,
}
