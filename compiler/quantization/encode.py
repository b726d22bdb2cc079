"""Weights, biases and scalars in fewer bits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..graph.ir import Array
from ..graph.stored import NF4, Codebook, Half, Linear, Stored, spread
from .settings import WeightFormat

LEAST_SCALE = 2.0**-60
"""Scales are not smaller, so that the product of two is no subnormal number."""

_LARGEST_BIAS = 2.0**30
"""Quanta of a bias, so that int32 has room for the sums that are added."""


_CLIPPED = (1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7)
"""Shares of the largest element that the range of four bits may end at."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """An element x stands as round(x / scale) + zero, in `dtype`, "uint8" or "int8"."""

    scale: np.float32
    zero: int
    dtype: str

    @property
    def low(self) -> float:
        """The least element that is represented."""
        return float((np.iinfo(self.dtype).min - self.zero) * self.scale)

    @property
    def high(self) -> float:
        return float((np.iinfo(self.dtype).max - self.zero) * self.scale)


def choose_parameters(low: float, high: float, dtype: str) -> Parameters:
    """For elements from `low` to `high`. Zero, with which convolutions are padded, is always represented exactly."""
    low, high = min(low, 0.0), max(high, 0.0)
    limits = np.iinfo(dtype)
    scale = np.float32(max((high - low) / (limits.max - limits.min), LEAST_SCALE))
    zero = int(np.clip(np.rint(limits.min - low / float(scale)), limits.min, limits.max))
    return Parameters(scale, zero, dtype)


def encode_scalars(data: Array, parameters: Parameters) -> Linear:
    """A constant with the scale and zero point of a value."""
    limits = np.iinfo(parameters.dtype)
    quanta = np.rint(data / parameters.scale) + parameters.zero
    zero = np.array(parameters.zero, parameters.dtype)
    return Linear(quanta.clip(limits.min, limits.max).astype(parameters.dtype), np.array(parameters.scale), zero)


def encode_bias(data: Array, scale: Array) -> Linear:
    """int32 of the scale of a sum of products."""
    quanta = np.rint(data.astype(np.float64) / scale)
    return Linear(quanta.clip(-(2**31) + 1, 2**31 - 1).astype(np.int32), scale, axis=0 if scale.ndim else None, bits=32)


def least_scales(bias: Array, input_scale: float) -> Array:
    """The smallest scales of weights with which a bias fits into int32."""
    least: Array = np.abs(bias.astype(np.float64)) / (input_scale * _LARGEST_BIAS)
    return least


def encode_int8(weights: Array, axis: int | None, least: Array | None = None, bits: int = 8) -> Linear:
    """Symmetric int8, of which so many `bits` are in use, without -128. There is a scale for each place along
    `axis`, or one for all; none is below `least`."""
    most = 2 ** (bits - 1) - 1
    others = tuple(d for d in range(weights.ndim) if d != axis)
    largest = np.abs(weights.astype(np.float64)).max(others if axis is not None else None, initial=0.0) / most
    scale = np.maximum(largest, 0.0 if least is None else least)
    scale = np.where(scale > 0, np.maximum(scale, LEAST_SCALE), 1.0).astype(np.float32)
    quanta = np.rint(weights / spread(scale, weights.shape, axis)).clip(-most, most)
    return Linear(quanta.astype(np.int8), scale, axis=axis)


def encode_weights(weights: Array, form: WeightFormat, summed: int, channels: int) -> Stored:
    """Weights that are summed over along the axis `summed`: with blocks along it where it is longer than one, else with
    scales along `channels`."""
    if form.kind == "f16":
        return Half(weights.astype(np.float16))
    block = form.block if form.block is not None and weights.shape[summed] > form.block else None
    if form.kind == "nf4" and block is not None and weights.shape[summed] % block:
        block = None  # its blocks are dimensions of a tensor
    axis = channels if block is None else summed
    largest = np.abs(_blocks(weights, summed, block)).max(summed + 1) if block else _largest(weights, channels)
    if form.kind == "nf4":
        scale = np.where(largest > 0, largest, 1).astype(np.float32)
        middles = (NF4[1:] + NF4[:-1]) / 2
        indices = np.searchsorted(middles, weights / spread(scale, weights.shape, axis, block))
        return Codebook(indices.astype(np.uint8), NF4, scale, axis, block)
    if form.kind == "int8":
        scale = (np.where(largest > 0, largest, 1) / 127).astype(np.float32)
        quanta = np.rint(weights / spread(scale, weights.shape, axis, block)).clip(-127, 127)
        return Linear(quanta.astype(np.int8), scale, axis=axis, block=block)
    return _encode_int4(weights, axis, summed, block)


def _encode_int4(weights: Array, axis: int, summed: int, block: int | None) -> Linear:
    """Symmetric, with all 16 values: the largest element becomes -8, so that scales may be negative, or
    is clipped to that, by the one of _CLIPPED with which the squares of errors add up to the least."""
    grouped, along = (_blocks(weights, summed, block), summed + 1) if block else (_rows(weights, axis), 1)
    at = np.abs(grouped).argmax(along, keepdims=True)
    largest = np.take_along_axis(grouped, at, along) / -8
    largest = np.where(largest == 0, 1, largest)
    scale, least = largest, np.full(largest.shape, np.inf)
    for clipped in _CLIPPED:
        tried = largest * clipped
        error = np.square(grouped - np.rint(grouped / tried).clip(-8, 7) * tried).sum(along, keepdims=True)
        scale, least = np.where(error < least, tried, scale), np.minimum(error, least)
    scale = scale.squeeze(along).astype(np.float32)
    quanta = np.rint(weights / spread(scale, weights.shape, axis, block)).clip(-8, 7)
    return Linear(quanta.astype(np.int8), scale, axis=axis, block=block, bits=4)


def _blocks(weights: Array, axis: int, block: int) -> Array:
    """Blocks along `axis`, the last one filled with zeros; elements of a block are along the axis behind."""
    missing = -weights.shape[axis] % block
    padded = np.pad(weights, [(0, missing if d == axis else 0) for d in range(weights.ndim)])
    blocks: Array = padded.reshape(*weights.shape[:axis], -1, block, *weights.shape[axis + 1 :])
    return blocks


def _rows(weights: Array, axis: int) -> Array:
    return np.moveaxis(weights, axis, 0).reshape(weights.shape[axis], -1)


def _largest(weights: Array, axis: int) -> Array:
    largest: Array = np.abs(_rows(weights, axis)).max(1, initial=0)
    return largest
