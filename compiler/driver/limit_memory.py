"""The memory that a bundle takes in a page at its peak, and convolutions whose filters stay below `--page-memory`.

What a model takes above its weights and tensors are filters that Winograd's algorithm prepares at load, up to four
times the model's own: where a backend exceeds the limit, it is lowered again with fewer of these. What a model takes
at least is known as soon as it is lowered: a limit below that is refused before kernels are compiled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..bundle import SHARD_BYTES, HostArtifact, WasmArtifact, place_memory
from ..errors import InputError
from ..pipeline.lowered import Lowered
from ..pipeline.weights import Weights
from ..program.weight_types import mostly_floats
from ..text.size import size
from .build_device import DeviceBuild
from .build_wasm import WasmBuild
from .device_target import DeviceTarget
from .least_memory import least_on_device, least_on_processor, weight_types
from .work import Work

if TYPE_CHECKING:
    from .bundle_part import BundlePart
    from .compile_target import CompileTarget

ARRIVING = 2 * SHARD_BYTES
"""Bytes of weights that the runtime receives at once (fetch_weights.js)."""


@dataclass(frozen=True, slots=True)
class PageMemory:
    """Bytes by what they are for; `other` are code, stacks and weights on their way."""

    weights: int
    prepared: int
    tensors: int
    other: int

    @property
    def total(self) -> int:
        return self.weights + self.prepared + self.tensors + self.other


def page_memory(part: BundlePart, name: str, weights: Weights) -> PageMemory:
    """The memory of one backend of the model `name` while it loads, which is the peak: the largest, of modules for
    several processors."""
    if isinstance(part, WasmBuild):
        modules = (part.artifact, *part.artifact.in_bytes.values())
        return max((_of_module(name, m, weights.memory_bytes) for m in modules), key=lambda m: m.total)
    assert isinstance(part, DeviceBuild)
    program, host = part.program, part.artifact.host
    uploaded = {program.values[c.value].storage for c in program.constants}
    computed = {program.values[launch.arguments[-1]].storage for launch in program.prepare} - uploaded
    of_weights, prepared = (sum(program.storages[i].bytes for i in which) for which in (uploaded, computed))
    tensors = sum(s.bytes for s in program.storages) - of_weights - prepared
    arriving = ARRIVING + max((c.bytes for c in program.constants), default=0)
    return PageMemory(of_weights, prepared, tensors, arriving + (0 if host is None else _of_host(name, host)))


def _of_module(name: str, module: WasmArtifact, weights: int) -> PageMemory:
    constants = weights + module.prepared_bytes
    total = place_memory(name, module.heap_base, constants, module.arena_bytes, module.state_bytes).bytes
    known = (weights, module.prepared_bytes, module.arena_bytes + module.state_bytes)
    return PageMemory(*known, total - sum(known) + ARRIVING)


def _of_host(name: str, host: HostArtifact) -> int:
    return place_memory(name, host.heap_base, host.weights_bytes + host.prepared_bytes, host.arena_bytes).bytes


def lower_limits(parts: Mapping[str, BundlePart], lowered: Mapping[str, Lowered], weights: Weights, work: Work) -> bool:
    """Whether a backend takes more than the options allow, and how much its filters may take next is now in
    `work.filters`. InputError where no filters are left that could be spared."""
    if work.options.page_memory is None:
        return False
    memory = {name: page_memory(part, work.name, weights) for name, part in parts.items()}
    again = [_lower_limit(name, taken, lowered[name], work, "takes") for name, taken in memory.items()]
    return any(again)


def lower_limit_early(target: CompileTarget, lowered: Lowered, work: Work) -> bool:
    """Likewise for one target, by the memory that the model takes at least: before kernels are compiled."""
    if work.options.page_memory is None:
        return False
    if isinstance(target, DeviceTarget):
        least = least_on_device(lowered, halves=target.stores_halves(work.options))
    else:
        least = least_on_processor(lowered)
    return _lower_limit(target.name, PageMemory(*least, ARRIVING), lowered, work, "takes at least")


def _lower_limit(name: str, memory: PageMemory, lowered: Lowered, work: Work, takes: str) -> bool:
    limit = work.options.page_memory
    if limit is None or memory.total <= limit:
        return False
    filters = sum(r.tensors[1].buffer.size * r.tensors[1].dtype.bytes for r in lowered.rewritten)
    if not filters:
        raise InputError(_too_much(name, limit, memory, takes, quantise=mostly_floats(weight_types(lowered))))
    # Tensors and packed weights change, too: so the limit is approached from above, by a layer at least.
    work.filters[name] = min(filters - (memory.total - limit) * 3 // 4, filters - 1)
    return True


def _too_much(target: str, limit: int, memory: PageMemory, takes: str, *, quantise: bool) -> str:
    parts = {
        "weights": memory.weights,
        "computed from them at load": memory.prepared,
        "tensors at their peak": memory.tensors,
        "code, stack and what is arriving": memory.other,
    }
    each = ", ".join(f"{what} {size(n)}" for what, n in parts.items() if n)
    return (
        f"--page-memory {size(limit)}: on {target} the model {takes} {size(memory.total)} with no convolution by "
        f"Winograd's algorithm: {each}; allow that much, fix smaller sizes (--dim, the `most` of a --picture's "
        f"format), {'quantise the model (--quantize int8), ' if quantise else ''}or leave the target out"
    )
