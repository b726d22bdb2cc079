"""The part of a build that makes the program for a GPU, with its host part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..bundle import DeviceArtifact, HostArtifact
from ..bundle.render_references import SECTION, render_references
from ..errors import InputError
from ..gpu.arithmetic import FLOATS, Arithmetic
from ..gpu.compile_for_device import compile_for_device
from ..gpu.partition_host import HostPartition
from ..gpu.plan_for_device import DevicePlan
from ..pipeline.lowered import Lowered
from ..pipeline.plan_kernels import KernelPlan
from ..pipeline.weights import Weights
from ..program.device_program import DeviceProgram, HostCall, Launch
from ..program.program import Program
from ..system.need_llvm import has_llvm
from ..wasm.binary import CUSTOM, name, section
from ..wasm.build_module import build_host
from .device_target import DeviceTarget
from .work import Work


@dataclass(frozen=True, slots=True)
class DeviceBuild:
    """`plan` has the choices of the kernels on the device, `partition` the groups of each step; `on_host` are the
    segments of a run on the host. `halves`: results between kernels are float16, and those that `arithmetic` says are
    computed so. `without_canary` says why a kernel has none, by its number."""

    target: DeviceTarget
    artifact: DeviceArtifact
    program: DeviceProgram
    partition: HostPartition
    plan: KernelPlan
    halves: bool
    without_canary: Mapping[int, str]
    arithmetic: Arithmetic = FLOATS

    @property
    def on_host(self) -> tuple[HostCall, ...]:
        return self.program.calls

    @property
    def timed(self) -> Sequence[Launch | HostCall]:
        return self.program.work

    @property
    def code_bytes(self) -> int:
        """The bytes of all shaders' text."""
        return sum(len((k.source + (k.with_subgroups or "")).encode()) for k in self.program.kernels)


def build_device(target: DeviceTarget, lowered: Lowered, weights: Weights, work: Work) -> DeviceBuild:
    """Compiles `lowered`, made by the target's layout policy. Constants are added to `weights` unless they are there.

    Raises InputError for segments on the host with `--host js`.
    """
    with work.timed("shaders", target.name):
        plan = target.plan(lowered, weights, work)
        program = compile_for_device(lowered, plan)
    program, without = _with_canaries(plan, program, target, work)
    if work.options.host == "js" and program.calls:
        first, *more = program.calls
        others = f" and {len(more)} others" if more else ""
        raise InputError(
            f"--host js: on {target.name}, node {', '.join(first.nodes)} ({', '.join(first.ops)}){others} cannot run "
            f"on the device: {first.reason}; leave --host js out, or change the model"
        )
    host = None
    if program.host is not None:
        with work.timed("generate code", f"host of {target.name}"):
            host = _host(program.host, weights, work)
    references = None
    if work.options.check_kernels:
        with work.timed("references", target.name):
            references = _references(plan, program, work)
    artifact, halves = DeviceArtifact(program, host, references), target.stores_halves(work.options)
    return DeviceBuild(target, artifact, program, plan.partition, plan.kernels, halves, without, plan.arithmetic)


def _with_canaries(
    plan: DevicePlan, program: DeviceProgram, target: DeviceTarget, work: Work
) -> tuple[DeviceProgram, Mapping[int, str]]:
    """The program with its canaries and alternatives, and why kernels have no canary, by their numbers."""
    kernels = range(len(program.kernels))
    if not work.options.canaries or work.options.dump is not None:
        return program, dict.fromkeys(kernels, "--canaries off" if not work.options.canaries else "--dump")
    if not has_llvm():
        return program, dict.fromkeys(kernels, "the build has no LLVM to compute its result")
    from ..canaries.make_alternatives import make_alternatives
    from ..canaries.make_canaries import make_canaries

    with work.timed("canaries", target.name):
        canaries, without = make_canaries(plan, program, work.cache)
    with work.timed("alternatives", target.name):
        alternatives = make_alternatives(plan, program, canaries)
    return replace(program, canaries=canaries, alternatives=alternatives), without


def _references(plan: DevicePlan, program: DeviceProgram, work: Work) -> bytes:
    """The wasm module with which a page compares launches, with its table; empty where no kernel can be compared."""
    from ..canaries.make_references import make_references

    made = make_references(plan, program, work.cache)
    if made is None:
        return b""
    own, kernels = made
    linked = build_host(own, linker=work.options.linker, cache=work.cache)
    table = render_references(work.name, kernels, linked.heap_base, own.arena)
    return linked.module + section(CUSTOM, name(SECTION) + table)


def _host(program: Program, weights: Weights, work: Work) -> HostArtifact:
    """The wasm module of what runs on the host, a device program's `host`."""
    linked = build_host(program, linker=work.options.linker, cache=work.cache)
    return HostArtifact(
        module=linked.module,
        heap_base=linked.heap_base,
        arena_bytes=program.arena,
        weights_offset=weights.append(program.weights, program.weight_types),
        weights_bytes=len(program.weights),
        prepared_bytes=program.prepared,
        prepare=len(program.prepare),
    )
