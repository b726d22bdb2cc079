"""The part of a build that makes the wasm modules: one with relaxed SIMD, one with plain SIMD, and others that multiply
bytes, where a model does."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..bundle import KernelInfo, WasmArtifact, place_memory
from ..cpu.compile_for_cpu import compile_for_cpu, plan_for_cpu
from ..errors import InternalError
from ..execution.wasm_model import WasmModel
from ..pipeline.lowered import Lowered
from ..pipeline.plan_kernels import KernelPlan
from ..pipeline.weights import Weights
from ..program.count_products import count_products
from ..program.program import Launch, Program, check_wasm32
from ..system.run_passes import ignore
from ..target import WASM_BYTES, WASM_PLAIN, WASM_RELAXED, Target
from ..wasm.build_module import build_module, render_module
from ..wasm.linkers import Linked
from .compile_ahead import compile_ahead
from .work import Work

VARIANTS: tuple[tuple[str, Target], ...] = (("relaxed", WASM_RELAXED), ("plain", WASM_PLAIN))
"""Variants of the wasm module: with relaxed SIMD and without."""


@dataclass(frozen=True, slots=True)
class WasmBuild:
    """`plan`, which has the choices of kernels, is that of both variants, and so is `program`, but for its kernels,
    which are those of the first, for `target`. `code_bytes` by variant; `models` run each variant, for `--verify`."""

    artifact: WasmArtifact
    program: Program
    target: Target
    plan: KernelPlan
    code_bytes: dict[str, int]
    models: tuple[WasmModel, ...]

    @property
    def timed(self) -> Sequence[Launch]:
        return self.program.launches


def build_wasm(
    name: str, lowered: Lowered, weights: Weights, work: Work, in_bytes: Mapping[str, Lowered] | None = None
) -> WasmBuild:
    """Compiles `lowered` for both variants of the target `name`; their common constants are added to `weights`.
    `in_bytes` is the model for each of WASM_BYTES that multiplies bytes of it."""
    options = work.options
    _check_size(work.name, lowered)
    variants = {name: target for name, target in VARIANTS if name in options.variants}
    plan = plan_for_cpu(
        lowered, [target for _, target in VARIANTS], work.choices(name).kernels, options.opt_level, work.cache
    )
    _compile_ahead(lowered, [*variants.values()], plan, work)
    modules = [_compile(lowered, variant, target, name, plan, weights, work) for variant, target in variants.items()]
    if len({_constants(m.program) for m in modules}) > 1:
        raise InternalError("compile_for_cpu: two variants of the module read weights in different layouts")
    artifact = replace(_artifact(modules), canaries=options.canaries)
    others = []
    for variant, own in (in_bytes or {}).items():
        target = WASM_BYTES[variant]
        plan_of_bytes = plan_for_cpu(own, [target], work.choices(name).kernels, options.opt_level, work.cache)
        _compile_ahead(own, [target], plan_of_bytes, work)
        others.append(_compile(own, variant, target, name, plan_of_bytes, weights, work))
    return WasmBuild(
        replace(artifact, in_bytes={m.variant: _artifact([m]) for m in others}),
        modules[0].program,
        next(iter(variants.values())),
        plan,
        {m.variant: len(m.linked.module) for m in (*modules, *others)},
        tuple(m.model for m in (*modules, *others) if m.model is not None),
    )


@dataclass(frozen=True, slots=True)
class _Module:
    """`model` runs it, for `--verify`."""

    variant: str
    program: Program
    linked: Linked
    model: WasmModel | None


def _compile_ahead(lowered: Lowered, targets: list[Target], plan: KernelPlan, work: Work) -> None:
    options = work.options
    if options.dump is None and options.processes != 1:
        with work.timed("schedule", "in several processes"):
            compile_ahead(lowered, targets, work.cache, options.opt_level, options.processes, plan)


def _compile(
    lowered: Lowered, variant: str, target: Target, name: str, plan: KernelPlan, weights: Weights, work: Work
) -> _Module:
    options, detail = work.options, f"{variant} SIMD"
    relaxed = variant != "plain"
    # Only the first variant is dumped.
    dumped = variant == next(v for v, _ in VARIANTS if v in options.variants)
    observe = work.observer(name) if dumped else ignore
    with work.timed("schedule", detail):
        program = compile_for_cpu(lowered, target, observe, options.opt_level, weights, work.cache, plan)
    with work.timed("generate code", detail):
        if options.dumped == (name, "llvm") and dumped:
            observe("llvm", render_module(program))
        linked = build_module(
            program, relaxed=relaxed, linker=options.linker, cache=work.cache, canary=options.canaries
        )
    model = None
    if options.verify and runs_here(variant):
        model = WasmModel(program, linked, relaxed=relaxed, in_bytes=variant if variant in WASM_BYTES else None)
    return _Module(variant, program, linked, model)


def runs_here(variant: str) -> bool:
    """Whether wasmtime runs a variant exactly on this machine: bytes are signed, or those of the processor, which on
    x86 are unsigned."""
    return variant != "unsigned" and (variant != "narrow" or platform.machine() in ("x86_64", "AMD64"))


def _artifact(modules: Sequence[_Module]) -> WasmArtifact:
    """The artifact of modules of equal programs."""
    program = modules[-1].program
    return WasmArtifact(
        {m.variant: m.linked.module for m in modules},
        max(m.linked.heap_base for m in modules),
        program.arena,
        tuple(KernelInfo(s.name, s.nodes, s.ops) for s in program.launches),
        program.prepared,
        {m.variant: m.linked.shared_at for m in modules if m.linked.shared_at is not None},
        program.scalars,
        count_products(program.launches),
        inputs=program.inputs,
        outputs=program.outputs,
        needs=program.needs,
        weights_bytes=len(program.weights),
        states=program.states,
        state_bytes=program.state_bytes,
    )


def memory_bytes(name: str, build: WasmBuild, weights: int) -> int:
    """The module's memory in bytes, of which `weights` are for the weights."""
    a = build.artifact
    return place_memory(name, a.heap_base, weights + a.prepared_bytes, a.arena_bytes, a.state_bytes).bytes


def _constants(program: Program) -> tuple[bytes, int]:
    return program.weights, program.prepared


def _check_size(name: str, lowered: Lowered) -> None:
    """InputError for a model too large for wasm32, before code is generated for it."""
    constants = {t: t.buffer.size * t.dtype.bytes for g in lowered.groups for t in g.reads if t.is_constant}
    check_wasm32(name, 0, sum(constants.values()), lowered.stored.peak + lowered.stored.state_bytes)
