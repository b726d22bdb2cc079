"""The part of a build that makes the program for a GPU, with its host part."""

from __future__ import annotations

from dataclasses import dataclass

from ..bundle import DeviceArtifact, HostArtifact
from ..errors import InputError
from ..pipeline.lowered import Lowered
from ..pipeline.weights import Weights
from ..program.device_program import DeviceProgram, HostCall
from ..wasm.build_module import build_launcher
from .device_target import DeviceTarget
from .work import Work


@dataclass(frozen=True, slots=True)
class DeviceBuild:
    """`on_host` are the segments of a run on the host. `halves`: results between kernels are float16."""

    target: DeviceTarget
    artifact: DeviceArtifact
    program: DeviceProgram
    halves: bool

    @property
    def on_host(self) -> tuple[HostCall, ...]:
        return self.program.calls

    @property
    def code_bytes(self) -> int:
        """The bytes of all shaders' text."""
        return sum(len((k.source + (k.with_subgroups or "")).encode()) for k in self.program.kernels)


def build_device(target: DeviceTarget, lowered: Lowered, weights: Weights, work: Work) -> DeviceBuild:
    """Compiles `lowered`, made by the target's layout policy. Constants are added to `weights` unless they are there.

    Raises InputError for segments on the host with `--host js`.
    """
    with work.timed("shaders", target.name):
        program = target.compile_program(lowered, weights, work)
    # Where nothing is computed on the host, and the runtime carries out the steps, a module would do nothing.
    as_data = work.options.host == "js" or (program.host is None and not program.is_fixed)
    artifact = DeviceArtifact(program, None if as_data else _host(program, weights, work))
    made = DeviceBuild(target, artifact, program, target.stores_halves(work.options))
    if work.options.host == "js" and made.on_host:
        first, *more = made.on_host
        others = f" and {len(more)} others" if more else ""
        raise InputError(
            f"--host js: on {target.name}, node {', '.join(first.nodes)} ({', '.join(first.ops)}){others} cannot run "
            f"on the device: {first.reason}; leave --host js out, or change the model"
        )
    return made


def _host(program: DeviceProgram, weights: Weights, work: Work) -> HostArtifact:
    """The wasm module that launches the program's kernels and runs those of the host."""
    with work.timed("generate code", f"host of {program.backend}"):
        linked = build_launcher(program, linker=work.options.linker, cache=work.cache)
    if program.host is None:
        return HostArtifact(linked.module, linked.heap_base)
    return HostArtifact(
        module=linked.module,
        heap_base=linked.heap_base,
        arena_bytes=program.host.arena,
        weights_offset=weights.append(program.host.weights),
        weights_bytes=len(program.host.weights),
        prepared_bytes=program.host.prepared,
    )
