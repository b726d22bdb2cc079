"""The element types of a model's tensors in a device's memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..dtypes import F16, DType
from ..ir.nodes import Cast, Kernel, Load
from ..passes.compute_in_halves import compute_in_halves
from ..passes.narrow_types import device_dtype
from ..passes.pack_words import PACKED
from ..passes.store_narrow import store_narrow
from ..pipeline.weights import Weights
from ..tensor import Tensor


@dataclass(frozen=True, slots=True)
class StorageTypes:
    """Constants that are integers of 8 and 16 bits are stored as such. `halves` are stored as float16, as are constants
    that `weights` ships so; None: no tensor is. `whole` are as well, which rounds nothing. The results in `computed`
    are computed in float16, too."""

    weights: Weights
    halves: frozenset[Tensor] | None
    computed: frozenset[Tensor] = frozenset()
    whole: frozenset[Tensor] = frozenset()

    def of(self, t: Tensor) -> DType:
        source = self.source(t)
        if source.is_constant and source.dtype in PACKED:
            return source.dtype
        shipped_half = t.data is not None and not t.prepared and self.weights.dtype(t) == F16
        if t in self.whole or (self.halves is not None and (t in self.halves or shipped_half)):
            return F16
        return device_dtype(t.dtype)

    def source(self, t: Tensor) -> Tensor:
        """The tensor that is stored for `t`: the constant that it widens, unless float16 takes as few bytes as that."""
        source = widened(t)
        return t if t in self.whole and source.dtype.bits >= F16.bits else source

    def apply(self, kernel: Kernel, tensors: Sequence[Tensor]) -> Kernel:
        """The kernel with its parameters, those of `tensors`, in their storage types."""
        stored = store_narrow(kernel, {b: self.of(t) for b, t in zip(kernel.params, tensors, strict=True)})
        return compute_in_halves(stored) if tensors[-1] in self.computed else stored


def widened(t: Tensor) -> Tensor:
    """The constant of which `t`, which is prepared, has the elements in a wider type; else `t` itself: a device widens
    elements of few bits in each kernel that reads them."""
    match t.body:
        case Cast(to, Load(_, indices, None)) if t.prepared and indices == t.axes:
            (source,) = t.reads
            holds = to.is_float or (to.is_int and to.bits > source.dtype.bits and to.kind == "int")
            if source.dtype in PACKED and source.is_constant and holds:
                return source
    return t
