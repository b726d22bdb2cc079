"""A GPU's backend with a cache of compiled kernels."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from ..choices import DEFAULT, Choices, key_of_choices
from ..codegen.device_backend import CompiledKernel
from ..dtypes import DTYPES
from ..ir.nodes import Kernel, Scalar
from ..ir.size_data import expression_data, size_from_data
from ..pipeline.lazy_kernels import describe, layouts_from_bytes, layouts_to_bytes
from ..program.device_program import Declarations, DeviceKernel, Param, Placement, Strips
from ..system.cache import Cache, key_of
from .wrapped_backend import WrappedBackend

SHADER = "shader"
"""The kind of cache entry that holds a kernel's source text and its parameters."""


@dataclass(frozen=True, slots=True)
class CachedBackend(WrappedBackend):
    """`backend`, called only for kernels that `cache` lacks. Its repr must contain all that a kernel's text depends on
    besides the kernel itself. CannotExpress is not cached."""

    cache: Cache

    def compile_kernel(
        self, naive: Kernel, placements: Sequence[Placement | None], choices: Choices = DEFAULT
    ) -> CompiledKernel:
        key = key_of(describe(naive), self.backend, tuple(placements), key_of_choices(choices))
        return self._cached(key, naive, lambda: self.backend.compile_kernel(naive, placements, choices))

    def compile_simply(self, naive: Kernel, compiled: CompiledKernel) -> CompiledKernel:
        layouts = [b.layout for b in compiled.params]
        key = key_of(describe(naive), self.backend, compiled.placements, layouts, "simply")
        return self._cached(key, naive, lambda: self.backend.compile_simply(naive, compiled))

    def _cached(self, key: str, naive: Kernel, compile_: Callable[[], CompiledKernel]) -> CompiledKernel:
        data = self.cache.get(SHADER, key)
        if data is not None:
            return kernel_from_bytes(data, naive)
        compiled = compile_()
        self.cache.put(SHADER, key, kernel_to_bytes(compiled))
        return compiled


def kernel_to_bytes(compiled: CompiledKernel) -> bytes:
    """All but the names, which are those of the naive kernel."""
    k = compiled.kernel
    return json.dumps(
        {
            "source": k.source,
            "with_subgroups": k.with_subgroups,
            "declarations": None if k.declarations is None else asdict(k.declarations),
            "features": k.features,
            "access": [p.access for p in k.params],
            "seen": [p.dtype.name for p in k.params],
            "grid": [expression_data(n, {s: i for i, s in enumerate(k.scalars)}) for n in k.grid],
            "strips": k.strips
            and [expression_data(n, {s: i for i, s in enumerate(k.scalars)}) for n in k.strips.sizes],
            "workgroup": k.workgroup,
            "work": (k.flops, k.bytes),
            "dtypes": [b.dtype.name for b in compiled.params],
            "shapes": [b.shape for b in compiled.params],
            "layouts": layouts_to_bytes(b.layout for b in compiled.params).decode(),
            "placements": [None if p is None else asdict(p) for p in compiled.placements],
        }
    ).encode()


def kernel_from_bytes(data: bytes, naive: Kernel) -> CompiledKernel:
    """The inverse of `kernel_to_bytes`, for a kernel that prints as `naive` does."""
    e = json.loads(data)
    layouts = layouts_from_bytes(e["layouts"].encode())
    params = tuple(
        replace(b, shape=tuple(shape), dtype=DTYPES[dtype], layout=layout)
        for b, shape, dtype, layout in zip(naive.params, e["shapes"], e["dtypes"], layouts, strict=True)
    )
    seen = tuple(Param(DTYPES[dtype], access) for dtype, access in zip(e["seen"], e["access"], strict=True))
    flops, size = e["work"]
    d = e["declarations"]
    x, y, z = (size_from_data(n, naive.scalars) for n in e["grid"])
    kernel = DeviceKernel(
        naive.name,
        e["source"],
        seen,
        (x, y, z),
        flops,
        size,
        with_subgroups=e["with_subgroups"],
        declarations=None if d is None else Declarations(tuple(d["samplers"]), d["output"]),
        features=tuple(e["features"]),
        workgroup=tuple(e["workgroup"]),
        scalars=naive.scalars,
        strips=None if e["strips"] is None else _strips(e["strips"], naive.scalars),
    )
    return CompiledKernel(kernel, params, tuple(None if p is None else Placement(**p) for p in e["placements"]))


def _strips(data: Any, scalars: Sequence[Scalar]) -> Strips:
    first, length = (size_from_data(n, scalars) for n in data[:2])
    return Strips(first, length, *data[2:])
