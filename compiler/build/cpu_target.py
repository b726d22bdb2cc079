"""Targets whose kernels are compiled by LLVM: this machine's processor, and WebAssembly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..costs import CPU_COSTS
from ..errors import InternalError
from ..pipeline.compile_for import compile_for
from ..pipeline.lower_model import Lowered, lower_tensors
from ..system.run_passes import Observer
from ..tensor.choose_tile import choose_tile
from .compile_target import CompileTarget

if TYPE_CHECKING:
    from ..native.model import NativeModel
    from ..pipeline.weights import Weights
    from ..target import Target
    from ..wasm.model import WasmModel
    from .build_wasm import WasmBuild
    from .compile_target import CompiledModel
    from .optimise_model import Optimised
    from .work import Work


@dataclass(frozen=True, kw_only=True)
class CpuTarget(CompileTarget):
    """`run` makes a model that runs in this process, `make_part` the part of a bundle, None without one. `package` is
    required to check that part with `--verify`."""

    run: Callable[[Lowered, Work], CompiledModel]
    make_part: Callable[[str, Lowered, Weights, Work], WasmBuild] | None = None
    package: str | None = None

    def lower(self, model: Optimised, work: Work) -> Lowered:
        return lower_for_cpu(model, work, work.observer(self.name))

    def compile(self, lowered: Lowered, work: Work) -> CompiledModel:
        return self.run(lowered, work)

    def bundle(self, lowered: Lowered, weights: Weights, work: Work) -> WasmBuild:
        if self.make_part is None:
            raise InternalError(f"target {self.name} has no part in a bundle")
        return self.make_part(self.name, lowered, weights, work)


def lower_for_cpu(model: Optimised, work: Work, observe: Observer) -> Lowered:
    """Naive kernels, the same for all CPU targets."""
    choose = choose_tile(CPU_COSTS) if work.options.fast_math else None
    return lower_tensors(model.graph.name, model.tensors, observe, work.options.opt_level, choose=choose)


def run_native(lowered: Lowered, work: Work) -> NativeModel:
    """On this machine's processor."""
    from ..native.jit import host_target
    from ..native.model import NativeModel

    program = compile_for(lowered, host_target(), opt_level=work.options.opt_level, cache=work.cache)
    return NativeModel(program, work.options.threads, work.cache)


def run_wasm(lowered: Lowered, work: Work, target: Target, *, relaxed: bool) -> WasmModel:
    """Through wasmtime. Raises InputError where that is not installed."""
    from ..wasm.model import WasmModel, build_module

    program = compile_for(lowered, target, opt_level=work.options.opt_level, cache=work.cache)
    linked = build_module(program, relaxed=relaxed, linker=work.options.linker, cache=work.cache)
    return WasmModel(program, linked, relaxed=relaxed)
