"""The kernels of a model in the element types of devices, where they can be expressed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..dtypes import I64
from ..errors import CannotExpress
from ..ir.intervals import INT32, Range, limits
from ..ir.nodes import Buffer, Kernel
from ..passes.narrow_types import narrow_types, output_range
from ..pipeline.lowered import Lowered
from ..program.live_ranges import owner_of
from ..tensor import Tensor


@dataclass(frozen=True, slots=True)
class NarrowModel:
    """By number of the group: its kernel, or the reason of the CannotExpress."""

    kernels: Mapping[int, Kernel]
    cannot: Mapping[int, str]


def narrow_model(model: Lowered) -> NarrowModel:
    """Value ranges of integers are propagated from kernel to kernel. int64 inputs are assumed to fit int32: uploads to
    the device, of inputs or from the host, reject those that do not."""
    ranges: dict[Tensor, Range] = {t: INT32 for _, t in model.tensors.inputs if t.dtype == I64}
    kernels: dict[int, Kernel] = {}
    cannot: dict[int, str] = {}
    for i, (group, kernel) in enumerate(zip(model.groups, model.kernels, strict=True)):
        read: dict[Buffer, Range] = {}
        for t, b in zip(group.reads, kernel.params, strict=False):
            if not t.dtype.is_float:
                owner = owner_of(t, model.aliases)
                read[b] = ranges[owner] if owner in ranges else constant_range(t)
        interval: Range | None
        try:
            narrowed = narrow_types(kernel, read)
            kernels[i], interval = narrowed.kernel, narrowed.range
        except CannotExpress as reason:
            cannot[i], interval = str(reason), output_range(kernel, read)
        if interval is not None:
            ranges[group.output] = interval
    return NarrowModel(kernels, cannot)


def constant_range(t: Tensor) -> Range:
    """The range of an integer tensor's elements, from its data where it has any."""
    if t.data is not None and t.data.size:
        return int(t.data.min()), int(t.data.max())
    return limits(t.dtype)
