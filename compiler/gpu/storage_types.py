"""The element types of a model's tensors in a device's memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..dtypes import F16, DType
from ..ir.nodes import Kernel
from ..passes.narrow_types import device_dtype
from ..passes.store_halves import store_halves
from ..pipeline.weights import Weights
from ..tensor import Tensor


@dataclass(frozen=True, slots=True)
class StorageTypes:
    """`halves` are stored as float16, as are constants that `weights` ships so; None: no tensor is."""

    weights: Weights
    halves: frozenset[Tensor] | None

    def of(self, t: Tensor) -> DType:
        shipped_half = t.data is not None and not t.prepared and self.weights.dtype(t) == F16
        if self.halves is not None and (t in self.halves or shipped_half):
            return F16
        return device_dtype(t.dtype)

    def apply(self, kernel: Kernel, tensors: Sequence[Tensor]) -> Kernel:
        """The kernel with its parameters, those of `tensors`, in their storage types."""
        halves = {b for b, t in zip(kernel.params, tensors, strict=True) if self.of(t) == F16}
        return store_halves(kernel, halves)
