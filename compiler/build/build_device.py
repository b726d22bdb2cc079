"""The part of a build that makes the program for a GPU, with what of it runs on the host."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..bundle import DeviceArtifact, HostArtifact
from ..device.cached_backend import CachedBackend
from ..device.compile_for_device import compile_for_device
from ..errors import InputError
from ..glsl.backend import WebGl
from ..pipeline.lower_model import Lowered
from ..pipeline.weights import Weights
from ..program.device_program import DeviceBackend, DeviceProgram, HostCall
from ..target import WEBGPU
from ..wasm.model import build_launcher
from ..wgsl.backend import WebGpu
from .options import Options
from .work import Work

BACKENDS: dict[str, DeviceBackend] = {"webgpu": WebGpu(), "webgl": WebGl()}


@dataclass(frozen=True, slots=True)
class DeviceBuild:
    """`on_host` are the parts of a run that the device cannot do."""

    artifact: DeviceArtifact
    program: DeviceProgram

    @property
    def on_host(self) -> tuple[HostCall, ...]:
        return self.program.calls

    @property
    def code_bytes(self) -> int:
        """Of all shaders' text."""
        return sum(len((k.source + (k.with_subgroups or "")).encode()) for k in self.program.kernels)


def _backend(name: str, options: Options) -> DeviceBackend:
    """With what the options say of the device: a build sees none."""
    if name == "webgpu" and options.gpu_tiles == "shared":
        return WebGpu(replace(WEBGPU, shared_tiles=True))
    return BACKENDS[name]


def build_device(name: str, lowered: Lowered, weights: Weights, work: Work) -> DeviceBuild:
    """Compiles `lowered`, made by the policy of the backend `name`. Constants go to `weights` unless they are there.

    Raises InputError where the host has to compute and is not to be wasm.
    """
    with work.timed("shaders", name):
        halves = work.options.precision == "f16" and name == "webgpu"
        backend = CachedBackend(_backend(name, work.options), work.known)
        program = compile_for_device(lowered, backend, weights, halves=halves)
    made = DeviceBuild(DeviceArtifact(program), program)
    if work.options.host == "js":
        if not made.on_host:
            return made
        first, *more = made.on_host
        others = f" and {len(more)} others" if more else ""
        raise InputError(
            f"--host js: on {name}, node {', '.join(first.nodes)} ({', '.join(first.ops)}){others} cannot run on the "
            f"device: {first.reason}; leave --host js out, or change the model"
        )
    with work.timed("generate code", f"host of {name}"):
        linked = build_launcher(program, linker=work.options.linker, known=work.known)
    if program.host is None:
        return DeviceBuild(DeviceArtifact(program, HostArtifact(linked.module, linked.heap_base)), program)
    host = HostArtifact(
        module=linked.module,
        heap_base=linked.heap_base,
        arena_bytes=program.host.arena,
        weights_offset=weights.append(program.host.weights),
        weights_bytes=len(program.host.weights),
        prepared_bytes=program.host.prepared,
    )
    return DeviceBuild(DeviceArtifact(program, host), program)
