"""A device program as the runtime's JSON: kernels as source text, the rest as tables of indices."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import prod
from typing import Any

from ..program.device_program import Constant, DeviceKernel, DeviceProgram, HostCall, Launch, Storage
from .artifact import KernelInfo


def render_device(program: DeviceProgram, *, ordered: bool) -> bytes:
    """UTF-8. device_program.py documents the fields; tensors are counted in elements, shapes are left out. With
    `ordered` it has the order of the launches, by entry, which otherwise is code of the host's module."""
    document: dict[str, Any] = {
        "backend": program.backend,
        "features": sorted({feature for k in program.kernels for feature in k.features}),
        "kernels": [_kernel(k) for k in program.kernels],
        "storages": [_storage(s) for s in program.storages],
        "values": [
            {"name": v.name, "storage": v.storage, "dtype": str(v.dtype), "length": prod(v.shape)}
            for v in program.values
        ],
        "constants": [_constant(c) for c in program.constants],
        "launches": [_launch(s) for s in program.launches],
        "calls": [_call(s) for s in program.calls],
        "inputs": [port.value for port in program.inputs],
        "outputs": [port.value for port in program.outputs],
    }
    if ordered:
        document["order"] = {entry.name: list(entry.launches) for entry in program.entries}
    if program.host is not None:
        document["host"] = {
            "inputs": [port.spec.offset for port in program.inputs],
            "outputs": [port.spec.offset for port in program.outputs],
        }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def render_steps(kernels: Sequence[KernelInfo]) -> bytes:
    """The launches of a run on the CPU, for its profile."""
    steps = [{"name": k.name, "nodes": list(k.nodes), "ops": list(k.ops)} for k in kernels]
    return json.dumps(steps, ensure_ascii=False, separators=(",", ":")).encode()


def _kernel(kernel: DeviceKernel) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": kernel.name,
        "source": kernel.source,
        "access": "".join("w" if p.access == "write" else "r" for p in kernel.params),
        "grid": list(kernel.grid),
        "flops": kernel.flops,
        "bytes": kernel.bytes,
    }
    if kernel.with_subgroups is not None:
        entry["subgroups"] = kernel.with_subgroups
    if (d := kernel.declarations) is not None:
        entry["declarations"] = {"samplers": list(d.samplers), "output": d.output}
    return entry


def _storage(storage: Storage) -> dict[str, Any]:
    entry: dict[str, Any] = {"bytes": storage.bytes, "dtype": str(storage.dtype)}
    if (place := storage.placement) is not None:
        entry["texture"] = [place.width, place.height, place.layers]
    if storage.prepare_only:
        entry["prepareOnly"] = True
    return entry


def _constant(c: Constant) -> dict[str, Any]:
    entry: dict[str, Any] = {"value": c.value, "offset": c.offset, "bytes": c.bytes, "dtype": str(c.dtype)}
    if c.dimensions is not None:
        entry["digits"] = [[d.extent, d.stride, d.axis, d.weight] for d in c.dimensions]
        entry["limits"] = list(c.limits)
    return entry


def _launch(launch: Launch) -> dict[str, Any]:
    return {
        "kernel": launch.kernel,
        "name": launch.name,
        "arguments": list(launch.arguments),
        "nodes": list(launch.nodes),
        "ops": list(launch.ops),
    }


def _call(step: HostCall) -> dict[str, Any]:
    reads, writes = len(step.reads), len(step.writes)
    places = list(zip((*step.reads, *step.writes), step.offsets, strict=True))
    return {
        "reads": [{"value": value, "offset": offset} for value, offset in places[:reads]],
        "writes": [{"value": value, "offset": offset} for value, offset in places[reads : reads + writes]],
        "name": step.name,
        "nodes": list(step.nodes),
        "ops": list(step.ops),
        "reason": step.reason,
    }
