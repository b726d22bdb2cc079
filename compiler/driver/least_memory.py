"""The memory that a model takes in a page at least, which is known before its kernels are compiled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import prod

import numpy as np

from ..dtypes import F32, DType
from ..gpu.storage_types import widened
from ..pipeline.lowered import Lowered
from ..tensor import Tensor

Bytes = Callable[[DType], int]
"""The least bytes that a target stores an element of a type in."""


def least_on_processor(lowered: Lowered) -> tuple[int, int, int]:
    """Bytes of weights, of what is prepared from them, and of tensors, in the memory of a WebAssembly module."""
    stored = lowered.stored
    prepared = sum(prod(t.extents) * t.dtype.bytes for t in lowered.prepared)
    return _weights(lowered, lambda dtype: dtype.bytes), prepared, stored.peak + stored.state_bytes


def least_on_device(lowered: Lowered, *, halves: bool) -> tuple[int, int, int]:
    """Likewise on a GPU, of whose memory the plan is made after the kernels: tensors are those of one kernel.
    With `halves` float32 may be stored as float16."""

    def element(dtype: DType) -> int:
        return 2 if halves and dtype == F32 else min(dtype.bytes, F32.bytes)

    prepared = sum(prod(t.extents) * element(t.dtype) for t in lowered.prepared if widened(t) is t)
    kernels = (_at_once(lowered, (*g.reads, g.output), element) for g in lowered.groups)
    return _weights(lowered, element), prepared, max(kernels, default=0)


def _weights(lowered: Lowered, element: Bytes) -> int:
    """Constants of which the bytes have the same sum count once: they may be one in memory, whatever their layouts."""
    sums = {(t.dtype, data.size, _sum(data)): data.size * element(t.dtype) for t, data in _constants(lowered).items()}
    return sum(sums.values())


def weight_types(lowered: Lowered) -> Counter[str]:
    """The bytes of weights by the type of their elements."""
    types = Counter[str]()
    for t, data in _constants(lowered).items():
        types[t.packs or t.dtype.name] += data.nbytes
    return types


def _constants(lowered: Lowered) -> dict[Tensor, np.ndarray]:
    groups = (*lowered.groups, *lowered.prepared.values())
    return {t: t.data for g in groups for t in g.reads if t.data is not None and not t.prepared}


def _sum(data: np.ndarray) -> int:
    return int(np.ascontiguousarray(data).view(np.uint8).sum(dtype=np.uint64)) if data.size else 0


def _at_once(lowered: Lowered, tensors: tuple[Tensor, ...], element: Bytes) -> int:
    owners = {lowered.aliases.get(t, t) for t in tensors if not t.is_constant}
    return sum(prod(t.extents) * element(t.dtype) for t in owners)
