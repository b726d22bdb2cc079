"""The part of a build that makes the wasm modules: one with relaxed SIMD, one with plain SIMD."""

from __future__ import annotations

from dataclasses import dataclass

from ..bundle import KernelInfo, WasmArtifact, place_memory
from ..cpu.compile_for_cpu import compile_for_cpu, plan_for_cpu
from ..errors import InternalError
from ..execution.wasm_model import WasmModel
from ..pipeline.lowered import Lowered
from ..pipeline.plan_kernels import KernelPlan
from ..pipeline.weights import Weights
from ..program.count_products import count_products
from ..program.program import Program, check_wasm32
from ..system.run_passes import ignore
from ..target import WASM_PLAIN, WASM_RELAXED, Target
from ..wasm.build_module import build_module, render_module
from .compile_ahead import compile_ahead
from .work import Work

VARIANTS: tuple[tuple[str, Target], ...] = (("relaxed", WASM_RELAXED), ("plain", WASM_PLAIN))
"""Variants of the wasm module: with relaxed SIMD and without."""


@dataclass(frozen=True, slots=True)
class WasmBuild:
    """`plan` has the choices of the kernels of both variants. `code_bytes` by variant; `models` run each variant, for
    `--verify`."""

    artifact: WasmArtifact
    program: Program
    plan: KernelPlan
    code_bytes: dict[str, int]
    models: tuple[WasmModel, ...]


def build_wasm(name: str, lowered: Lowered, weights: Weights, work: Work) -> WasmBuild:
    """Compiles `lowered` for both variants of the target `name`; their common constants are added to `weights`."""
    options = work.options
    _check_size(work.name, lowered)
    targets = [target for _, target in VARIANTS]
    variants = [(name, target) for name, target in VARIANTS if name in options.variants]
    plan = plan_for_cpu(lowered, targets, work.choices(name).kernels, options.opt_level, work.cache)
    if options.dump is None and options.processes != 1:
        with work.timed("schedule", "in several processes"):
            compile_ahead(
                lowered, [target for _, target in variants], work.cache, options.opt_level, options.processes, plan
            )
    programs: list[Program] = []
    modules: dict[str, bytes] = {}
    shared_at: dict[str, int] = {}
    models: list[WasmModel] = []
    heap_base = 0
    for variant, target in variants:
        detail = f"{variant} SIMD"
        with work.timed("schedule", detail):
            # Only the first variant is dumped.
            observe = ignore if programs else work.observer(name)
            program = compile_for_cpu(lowered, target, observe, options.opt_level, weights, work.cache, plan)
        if any(_constants(p) != _constants(program) for p in programs):
            raise InternalError("compile_for_cpu: two variants of the module read weights in different layouts")
        with work.timed("generate code", detail):
            if options.dumped == (name, "llvm") and not programs:
                observe("llvm", render_module(program))
            relaxed = variant == "relaxed"
            linked = build_module(program, relaxed=relaxed, linker=options.linker, cache=work.cache)
        programs.append(program)
        modules[variant] = linked.module
        if linked.shared_at is not None:
            shared_at[variant] = linked.shared_at
        heap_base = max(heap_base, linked.heap_base)
        if options.verify:
            models.append(WasmModel(program, linked, relaxed=relaxed))
    kernels = tuple(KernelInfo(s.name, s.nodes, s.ops) for s in program.launches)
    artifact = WasmArtifact(
        modules,
        heap_base,
        program.arena,
        kernels,
        program.prepared,
        shared_at,
        program.scalars,
        count_products(program.launches),
    )
    return WasmBuild(artifact, program, plan, {v: len(m) for v, m in modules.items()}, tuple(models))


def memory_bytes(name: str, build: WasmBuild, weights: int) -> int:
    """The module's memory in bytes, of which `weights` are for the weights."""
    a = build.artifact
    return place_memory(name, a.heap_base, weights + a.prepared_bytes, a.arena_bytes).bytes


def _constants(program: Program) -> tuple[bytes, int]:
    return program.weights, program.prepared


def _check_size(name: str, lowered: Lowered) -> None:
    """InputError for a model too large for wasm32, before code is generated for it."""
    constants = {t: t.buffer.size * t.dtype.bytes for g in lowered.groups for t in g.reads if t.is_constant}
    check_wasm32(name, 0, sum(constants.values()), lowered.stored.peak)
