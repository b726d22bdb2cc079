"""Targets whose kernels are compiled by LLVM: this machine's processor, and WebAssembly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..bundle import VARIANTS
from ..costs import CPU_COSTS
from ..cpu.compile_for_cpu import KernelPass, compile_for_cpu, plan_for_cpu
from ..errors import InternalError
from ..ir.scalar_ops import quads_of
from ..pipeline.lower_model import lower_tensors
from ..pipeline.lowered import Lowered
from ..pipeline.plan_kernels import KernelChoices, default_choices
from ..target import CPU_LAYOUTS, WASM_BYTES, layouts_for
from ..tensor.choose_tile import choose_tile
from ..tensor.multiply_bytes import multiply_bytes
from .compile_target import CompileTarget

if TYPE_CHECKING:
    from ..execution.c_model import CModel
    from ..execution.native_model import NativeModel
    from ..execution.wasm_model import WasmModel
    from ..pipeline.weights import Weights
    from ..program.program import Program
    from ..target import LayoutPolicy, Target
    from .build_wasm import WasmBuild
    from .compile_target import CompiledModel
    from .optimise_model import Optimised
    from .work import Work


@dataclass(frozen=True, kw_only=True)
class CpuTarget(CompileTarget):
    """`run` makes a model that runs in this process, `make_part` the part of a bundle, None without one. `package` is
    required to check that part with `--verify`. `tuned_as`: the target whose records it uses, by default its own.
    `facts`: what a search schedules for."""

    run: Callable[[Lowered, Work, KernelChoices], CompiledModel]
    make_part: Callable[[str, Lowered, Weights, Work, Mapping[str, Lowered]], WasmBuild] | None = None
    package: str | None = None
    tuned_as: str | None = None
    facts: Callable[[], Target] | None = None

    def lower(self, model: Optimised, work: Work) -> Lowered:
        """Lowers a model alike for all CPU targets, except by records, and by the bytes that `facts` multiply."""
        return self._lower(model, work, CPU_LAYOUTS if self.facts is None else layouts_for(self.facts()))

    def _lower(self, model: Optimised, work: Work, policy: LayoutPolicy) -> Lowered:
        choose = choose_tile(CPU_COSTS) if work.options.fast_math else None
        layers = work.choices(self.tuned_as or self.name).layers
        name, level, observe = model.graph.name, work.options.opt_level, work.observer(self.name)
        filters = work.filters.get(self.name)
        return lower_tensors(
            name, model.tensors, observe, level, policy=policy, choose=choose, choices=layers, filters=filters
        )

    def compile(self, lowered: Lowered, work: Work) -> CompiledModel:
        return self.run(lowered, work, work.choices(self.tuned_as or self.name).kernels)

    def bundle(self, lowered: Lowered, weights: Weights, work: Work, model: Optimised | None = None) -> WasmBuild:
        if self.make_part is None:
            raise InternalError(f"target {self.name} has no part in a bundle")
        return self.make_part(self.name, lowered, weights, work, {} if model is None else self._in_bytes(model, work))

    def _in_bytes(self, model: Optimised, work: Work) -> dict[str, Lowered]:
        """The model for the modules that multiply bytes, where it has products of those; a device that is known takes a
        module without."""
        options = work.options
        if options.variants != VARIANTS or options.opt_level < 2:
            return {}
        lowered = {}
        for variant, target in WASM_BYTES.items():
            dot = quads_of(target.dots)
            if dot is not None and multiply_bytes(model.tensors, dot) is not model.tensors:
                with work.timed("optimise", variant):
                    lowered[variant] = self._lower(model, work, layouts_for(target))
        return lowered


def run_native(lowered: Lowered, work: Work, choices: KernelChoices = default_choices) -> NativeModel:
    """On this machine's processor."""
    from ..execution.native_model import NativeModel
    from ..native.jit import host_target

    program = _program(lowered, work, choices, host_target())
    return NativeModel(program, work.options.threads, work.cache)


def run_c(lowered: Lowered, work: Work, choices: KernelChoices = default_choices) -> CModel:
    """On this machine's processor, by its C compiler. Raises InputError where there is none."""
    from ..c.lower import PASSES
    from ..execution.c_model import CModel
    from ..native.jit import host_target

    program = _program(lowered, work, choices, replace(host_target(), name="host", short_dots=""), PASSES)
    return CModel(program, work.options.threads, work.cache)


def run_wasm(
    lowered: Lowered,
    work: Work,
    choices: KernelChoices,
    target: Target,
    *,
    relaxed: bool,
    in_bytes: str | None = None,
) -> WasmModel:
    """Through wasmtime. Raises InputError where that is not installed."""
    from ..execution.wasm_model import WasmModel
    from ..wasm.build_module import build_module

    program = _program(lowered, work, choices, target)
    linked = build_module(program, relaxed=relaxed, linker=work.options.linker, cache=work.cache)
    return WasmModel(program, linked, relaxed=relaxed, in_bytes=in_bytes)


def _program(
    lowered: Lowered,
    work: Work,
    choices: KernelChoices,
    target: Target,
    passes: tuple[KernelPass, ...] | None = None,
) -> Program:
    level, cache = work.options.opt_level, work.cache
    plan = plan_for_cpu(lowered, [target], choices, level, cache)
    return compile_for_cpu(lowered, target, opt_level=level, cache=cache, plan=plan, passes=passes)
