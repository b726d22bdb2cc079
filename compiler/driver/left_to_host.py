"""Parts of a model that GPUs leave to the host, by a build as far as no kernel is compiled."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..frontends.model_inputs import ModelInputs
from ..ir.nodes import Origin
from ..system.cache import open_cache
from .device_target import DeviceTarget
from .optimise_model import import_graph, optimise_model
from .options import Options
from .targets import TARGETS, bundled_targets
from .work import Work


@dataclass(frozen=True, slots=True)
class OnHost:
    """Operators that the host computes between those of a device, for these targets."""

    targets: tuple[str, ...]
    origin: Origin
    reason: str


def left_to_host(path: Path, inputs: ModelInputs, compile_memory: int | None) -> list[OnHost]:
    """The parts, in the order of a run; constants may take so many bytes, as in a build. Raises InputError and
    UnsupportedError as a build does: for sizes that are free, and for what cannot be compiled."""
    from ..gpu.plan_for_device import partition_by_types

    work = Work(path.name, Options(inputs, compile_memory=compile_memory), open_cache(enabled=False), lambda _: None)
    model = optimise_model(import_graph(path, work), work)
    found: dict[tuple[Origin, str], list[str]] = {}
    for name in bundled_targets():
        target = TARGETS[name]
        if isinstance(target, DeviceTarget):
            for segment in partition_by_types(target.lower(model, work)).segments:
                found.setdefault((segment.origin, segment.reason), []).append(name)
    return [OnHost(tuple(names), *part) for part, names in found.items()]
