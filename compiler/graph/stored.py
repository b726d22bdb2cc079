"""Forms in which a model file keeps constants in fewer bits than float32, and the elements that these stand for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .ir import Array

NF4 = np.array(
    [
        *(-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453),
        *(-0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0),
        *(0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224),
        *(0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0),
    ],
    np.float32,
)
"""The 16 values of NormalFloat4: quantiles of a normal distribution (Dettmers et al., QLoRA, appendix E)."""


@dataclass(frozen=True, eq=False, slots=True)
class Half:
    """Elements rounded to float16."""

    data: Array

    @property
    def decoded(self) -> Array:
        return self.data.astype(np.float32)

    @property
    def bytes(self) -> int:
        return self.data.nbytes


@dataclass(frozen=True, eq=False, slots=True)
class Linear:
    """(data - zero) * scale, as ONNX's DequantizeLinear: integers of `bits`, each in a NumPy element of its own. Scales
    are one for all (`axis` None), one for each place along `axis`, or with a `block` one for each so many of these."""

    data: Array
    scale: Array
    zero: Array | None = None
    axis: int | None = None
    block: int | None = None
    bits: int = 8

    @property
    def decoded(self) -> Array:
        difference = self.data.astype(np.int32)
        if self.zero is not None:
            difference = difference - spread(self.zero, self.data.shape, self.axis, self.block).astype(np.int32)
        decoded: Array = difference.astype(np.float32) * spread(self.scale, self.data.shape, self.axis, self.block)
        return decoded

    @property
    def bytes(self) -> int:
        zero = 0 if self.zero is None else -(-self.zero.size * self.bits // 8)
        return -(-self.data.size * self.bits // 8) + self.scale.nbytes + zero


@dataclass(frozen=True, eq=False, slots=True)
class Codebook:
    """table[data] * scale: `data` are indices of four bits, each in an element of its own; scales as those of Linear,
    where blocks, if there are any, divide the extent."""

    data: Array
    table: Array
    scale: Array
    axis: int
    block: int | None

    @property
    def decoded(self) -> Array:
        decoded: Array = self.table[self.data] * spread(self.scale, self.data.shape, self.axis, self.block)
        return decoded

    @property
    def bytes(self) -> int:
        return -(-self.data.size // 2) + self.table.nbytes + self.scale.nbytes


Stored = Half | Linear | Codebook


def spread(parameter: Array, shape: tuple[int, ...], axis: int | None, block: int | None = None) -> Array:
    """A scale or zero point, to broadcast with elements of `shape`."""
    if axis is None:
        return parameter
    if block is not None:
        return np.repeat(parameter, block, axis).take(range(shape[axis]), axis)
    return parameter.reshape([-1 if d == axis else 1 for d in range(len(shape))])
