"""Compiles an LLVM module for the machine that runs this, and calls into it."""

from __future__ import annotations

import ctypes
import platform
import weakref
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import cache

from ..codegen.llvm import llvm
from ..system.cache import Cache
from ..target import PROCESSORS, Target
from .emit import emit_object, host, target_machine


@cache
def host_target() -> Target:
    """Facts about this machine's CPU."""
    features = llvm.get_host_cpu_features()
    if platform.machine() in ("aarch64", "arm64"):
        return arm_target(dots=bool(features.get("dotprod")))
    if features.get("avx512f"):
        # Of 32 registers: tiles that use them all are no faster (ResNet18, MobileNetV2) and take longer to compile.
        quads = ("vnni_dot_unsigned_quads",) if features.get("avx512vnni") and features.get("avx512vl") else ()
        short = "avx_short_dots" if features.get("avx512bw") else ""
        dots = ("dot_pairs", *quads)
        return Target("native", lanes=16, registers=21, fused=True, dots=dots, short_dots=short)
    if features.get("avx2") and features.get("fma"):
        dots = ("dot_pairs",)
        return Target("native", lanes=8, registers=15, fused=True, dots=dots, short_dots="avx_short_dots")
    return Target("native", lanes=4, registers=15, fused=False)


def arm_target(*, dots: bool) -> Target:
    """Facts about an Arm processor of 64 bits, which may have the dots of bytes of ARMv8.2 (FEAT_DotProd)."""
    return replace(PROCESSORS["aarch64"], name="native", dots=("neon_dot_signed_quads",) if dots else ())


def cpu_name() -> str:
    """LLVM's name of this machine's processor."""
    return str(llvm.get_host_cpu_name())


class JitModule:
    """Machine code of one LLVM module; lives as long as this object."""

    def __init__(self, llvm_ir: str, cache: Cache | None = None) -> None:
        """Compiles unless `cache` has the object from an earlier build. InternalError where LLVM refuses the text."""
        compiled = llvm.ObjectFileRef.from_data(emit_object(llvm_ir, host(), cache or Cache(None), jit=True))
        with ExitStack() as owned:
            context = owned.enter_context(llvm.create_context())
            empty = owned.enter_context(llvm.parse_assembly("", context))
            self._engine = owned.enter_context(llvm.create_mcjit_compiler(empty, target_machine(host(), jit=True)))
            # The garbage collector would free context and engine in any order, and LLVM crash.
            weakref.finalize(self, owned.pop_all().close)
        self._engine.add_object_file(compiled)
        self._engine.finalize_object()
        self._functions: dict[str, Callable[..., None]] = {}

    def call(self, function: str, *addresses: int) -> None:
        """Calls a function, always with so many addresses; the interpreter lock is released meanwhile."""
        if function not in self._functions:
            entry = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(addresses))
            self._functions[function] = entry(self._engine.get_function_address(function))
        self._functions[function](*addresses)
