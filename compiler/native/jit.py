"""Compiles an LLVM module for the machine that runs this, and calls into it."""

from __future__ import annotations

import ctypes
import weakref
from contextlib import ExitStack
from functools import cache

import llvmlite
import llvmlite.binding as llvm

from ..errors import InternalError
from ..system.cache import Cache, key_of
from ..target import Target


@cache
def host_target() -> Target:
    """Facts about this machine's CPU."""
    features = llvm.get_host_cpu_features()
    if features.get("avx512f"):
        # Of 32 registers: tiles that use them all are no faster (ResNet18, MobileNetV2) and take longer to compile.
        return Target("native", lanes=16, registers=21, fused=True)
    if features.get("avx2") and features.get("fma"):
        return Target("native", lanes=8, registers=15, fused=True)
    return Target("native", lanes=4, registers=15, fused=False)


def cpu_name() -> str:
    """LLVM's name of this machine's processor."""
    return str(llvm.get_host_cpu_name())


def _machine() -> llvm.TargetMachine:
    """A new target machine: each JIT owns its own."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine: llvm.TargetMachine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3, jit=True
    )
    return machine


@cache
def header() -> str:
    """What every module of LLVM IR for this machine begins with."""
    machine = _machine()
    return f'target triple = "{machine.triple}"\ntarget datalayout = "{machine.target_data}"\n'


class JitModule:
    """Machine code of one LLVM module; lives as long as this object."""

    def __init__(self, llvm_ir: str, cache: Cache | None = None) -> None:
        """Compiles unless `cache` has the object from an earlier build. InternalError where LLVM refuses the text."""
        compiled = llvm.ObjectFileRef.from_data(_object(llvm_ir, cache or Cache(None)))
        with ExitStack() as owned:
            context = owned.enter_context(llvm.create_context())
            empty = owned.enter_context(llvm.parse_assembly("", context))
            self._engine = owned.enter_context(llvm.create_mcjit_compiler(empty, _machine()))
            # The garbage collector would free context and engine in any order, and LLVM crash.
            weakref.finalize(self, owned.pop_all().close)
        self._engine.add_object_file(compiled)
        self._engine.finalize_object()

    def call(self, function: str, weights: int, arena: int) -> None:
        """Calls a function with two addresses; the interpreter lock is released meanwhile."""
        address = self._engine.get_function_address(function)
        ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(address)(weights, arena)


def _object(llvm_ir: str, cache: Cache) -> bytes:
    key = key_of(llvmlite.__version__, llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten(), llvm_ir)
    data = cache.get("object", key)
    if data is None:
        data = _emit(llvm_ir)
        cache.put("object", key, data)
    return data


def _emit(llvm_ir: str) -> bytes:
    machine = _machine()
    with ExitStack() as owned:
        context = owned.enter_context(llvm.create_context())
        try:
            module = owned.enter_context(llvm.parse_assembly(llvm_ir, context))
            module.verify()
        except RuntimeError as error:
            raise InternalError(f"native: LLVM refuses the generated code: {str(error).strip()}") from None
        _simplify(module, machine)
        data: bytes = machine.emit_object(module)
    return data


def _simplify(module: llvm.ModuleRef, machine: llvm.TargetMachine) -> None:
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_unrolling = options.loop_vectorization = False
    options.loop_interleaving = options.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    simplifier = builder.getFunctionPassManager()
    for f in module.functions:
        if not f.is_declaration:
            simplifier.run(f, builder)
