"""Targets whose kernels are source text for a GPU's API."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ..errors import InputError
from ..pipeline.lowered import Lowered
from ..pipeline.weights import Weights
from ..system.need_llvm import has_llvm
from ..system.run_passes import Observer
from ..target import WASM_PLAIN, Target
from .compile_target import FAST_HALVES, CompileTarget

if TYPE_CHECKING:
    from ..codegen.device_backend import DeviceBackend
    from ..execution.device import Device
    from ..execution.device_model import DeviceModel
    from ..execution.native_model import NativeModel
    from ..gpu.arithmetic import Arithmetic, ChooseArithmetic
    from ..gpu.plan_for_device import DevicePlan
    from ..program.device_program import DeviceKernel, DeviceProgram
    from ..program.program import Program
    from ..system.cache import Cache
    from ..tensor import Tensor
    from .build_device import DeviceBuild
    from .optimise_model import Optimised
    from .options import Options
    from .work import Work


@dataclass(frozen=True, kw_only=True)
class DeviceTarget(CompileTarget):
    """`backend` is made from the options' facts of the device, since there is none at build time, and an observer.
    `half_arithmetic`: its language has float16, in which kernels may compute under `--precision f16-fast`.
    `open_device` opens this machine's device; it requires `package`, of the extra of the target's name."""

    backend: Callable[[Options, Observer], DeviceBackend]
    open_device: Callable[[Sequence[DeviceKernel]], Device]
    package: str | None = None
    half_arithmetic: bool = False

    def lower(self, model: Optimised, work: Work) -> Lowered:
        from ..gpu.lower_for_device import lower_for_device

        o, observe = work.options, work.observer(self.name)
        backend = self.backend(o, observe)
        return lower_for_device(
            model.graph.name,
            model.tensors,
            backend,
            observe,
            o.opt_level,
            fast_math=o.fast_math,
            choices=work.choices(self.name).layers,
            filters=work.filters.get(self.name),
        )

    def compile(self, lowered: Lowered, work: Work) -> DeviceModel:
        from ..gpu.compile_for_device import compile_for_device

        weights = Weights()
        plan = self.plan(lowered, weights, work)
        program = compile_for_device(lowered, plan, cpu=_host_target() if has_llvm() else WASM_PLAIN)
        return self.run(program, weights.blob())

    def bundle(self, lowered: Lowered, weights: Weights, work: Work, model: Optimised | None = None) -> DeviceBuild:
        from .build_device import build_device

        return build_device(self, lowered, weights, work)

    def stores_halves(self, options: Options) -> bool:
        """Whether results between kernels are stored as float16."""
        return self.halves and options.stores_halves

    def plan(self, lowered: Lowered, weights: Weights, work: Work) -> DevicePlan:
        """The partition between device and host, and the kernels of the device; for `compile_for_device`."""
        from ..gpu.arithmetic import in_floats
        from ..gpu.cached_backend import CachedBackend
        from ..gpu.plan_for_device import plan_for_device

        backend = CachedBackend(self.backend(work.options, work.observer(self.name)), work.cache)
        halves, choices = self.stores_halves(work.options), work.choices(self.name).kernels
        arithmetic: ChooseArithmetic = in_floats
        if self.half_arithmetic and work.options.precision == FAST_HALVES:
            arithmetic = partial(_measured, work.cache)
        host = work.options.host != "js"
        return plan_for_device(
            lowered, backend, weights, halves=halves, arithmetic=arithmetic, choices=choices, host=host
        )

    def run(self, program: DeviceProgram, weights: bytes) -> DeviceModel:
        """The program on this machine's GPU, or an emulation. Raises InputError where there is none, or one that lacks
        a feature of the program."""
        from ..execution.device_model import DeviceModel

        if self.package is not None:
            need_package(self.name, self.package)
        device = self.open_device(program.kernels)
        return DeviceModel(program, weights, device, None if program.host is None else _on_host(program.host))


def _measured(cache: Cache, model: Lowered, halves: Set[Tensor]) -> Arithmetic:
    from .measure_halves import measure_halves

    return measure_halves(model, halves, cache)


def _host_target() -> Target:
    from ..native.jit import host_target

    return host_target()


def _on_host(program: Program) -> NativeModel:
    from ..execution.native_model import NativeModel

    return NativeModel(program)


def need_package(target: str, package: str, extra: str | None = None) -> None:
    """InputError where the package is not installed, which the extra of the target's name has, or another."""
    try:
        installed = importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:  # of a package inside a missing one
        installed = False
    if not installed:
        raise InputError(f"target {target} needs the package {package}: pip install 'webnn-compile[{extra or target}]'")
