"""Kernels of a device program as functions of WebAssembly, with which a page compares what a device computes."""

from __future__ import annotations

from dataclasses import dataclass

from ..dtypes import DType
from .device_program import CopyDimension


@dataclass(frozen=True, slots=True)
class ReferenceArgument:
    """An argument of a reference: `size` elements of `dtype`, `offset` bytes into the arena.

    The device's storage holds an array in the order of `dimensions`, outermost first, elements at or beyond `limits`
    are padding; without dimensions it has the array's first elements in order. The reference has that array as it is,
    or in the order of `packed`."""

    offset: int
    dtype: DType
    size: int
    dimensions: tuple[CopyDimension, ...] | None
    limits: tuple[int, ...]
    packed: tuple[CopyDimension, ...] | None
    packed_limits: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ReferenceKernel:
    """The function `segment_0`, `segment_1`, ... by its number among the references, for the device's `kernel`: the
    last of its `arguments` is the result. `scalars` are the offsets of the int32 that a launch passes, in bytes into
    the arena. `accumulates`: it reads what the memory of its result holds. A device may be off by `tolerance`, relative
    to the largest magnitude of a result; 0 for results that are exact."""

    kernel: int
    arguments: tuple[ReferenceArgument, ...]
    scalars: tuple[int, ...]
    tolerance: float
    accumulates: bool
