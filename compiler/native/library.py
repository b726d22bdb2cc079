"""A program as a shared library: the kernels by LLVM, the public functions by a C compiler, which links."""

from __future__ import annotations

import platform
from dataclasses import dataclass

from ..codegen.c_ports import Ports
from ..codegen.llvm import llvm
from ..codegen.llvm_module import LlvmModule
from ..codegen.render_host import ENTRY, PREPARE, render_host
from ..errors import InputError
from ..library.render import Library, render_library
from ..program.program import Program
from ..system.c_compiler import build_library, find_compiler
from ..system.cache import Cache
from .emit import Processor, emit_object, header, host

FLAGS = ("-std=gnu99", "-O2", "-fvisibility=hidden", "-pthread", "-s")
LEVELS = ("x86-64-v3", "x86-64-v4")
ARM = "aarch64"

ASKED = ("avx", "avx2", "fma", "bmi", "bmi2", "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx512vnni")
"""Features that a library requires of the processor; GCC and Clang use the same names."""

_LEVEL_3 = ("avx", "avx2", "fma", "bmi", "bmi2")
_LEVEL_4 = (*_LEVEL_3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
_HIDDEN = '__attribute__((visibility("hidden")))'


@dataclass(frozen=True, slots=True)
class SharedLibrary:
    """`data` is the file, `texts` those of its interface."""

    data: bytes
    texts: Library


def make_library(program: Program, prefix: str, cpu: str, cache: Cache) -> SharedLibrary:
    """`cpu` is one of `target.PROCESSORS` or "host". Raises InputError where there is no compiler that links for it."""
    processor = _processor(cpu)
    command = find_compiler(processor.architecture)
    module = LlvmModule()
    render_host(program, module, cache, apart=True)
    code = emit_object(module.text(header(processor, jit=False)), processor, cache, jit=False)
    texts = _interface(program, prefix, _features(cpu))
    files: dict[str, str | bytes] = {f"{prefix}_library.c": texts.source, f"{prefix}_library.h": texts.header}
    files["kernels.o"] = code
    return SharedLibrary(build_library(command, files, FLAGS, cache), texts)


def _processor(cpu: str) -> Processor:
    if platform.system() != "Linux":
        raise InputError(f"libraries are written for Linux, and this is {platform.system()}: use --targets c")
    mine = platform.machine()
    if cpu == "host":
        return host()
    if cpu == "generic":
        return Processor(f"{mine}-unknown-linux-gnu", "x86-64" if mine == "x86_64" else "generic")
    if cpu == ARM:
        return Processor(f"{ARM}-unknown-linux-gnu", "generic")
    return Processor("x86_64-unknown-linux-gnu", cpu)


def _features(cpu: str) -> tuple[str, ...]:
    """Features of the processor that the library checks when a model is created."""
    if cpu == "host":
        has = llvm.get_host_cpu_features()
        return tuple(f for f in ASKED if has.get(f))
    return {"x86-64-v3": _LEVEL_3, "x86-64-v4": _LEVEL_4}.get(cpu, ())


def _interface(program: Program, prefix: str, features: tuple[str, ...]) -> Library:
    state, ports = ", state" if program.state_bytes else "", Ports.of(program)
    suits = " && ".join(f'__builtin_cpu_supports("{f}")' for f in features)
    declarations = [
        f"{_HIDDEN} void {ENTRY}(const void *weights, const void *prepared, void *arena{state and ', void *state'});",
        *([f"{_HIDDEN} void {PREPARE}(const void *weights, void *prepared, void *arena);"] if program.prepare else []),
        f"#define PROCESSOR_SUITS ({suits or '1'})",
        *([] if ports.states is None else ports.states.functions(prefix)),
    ]
    prepare = f"{PREPARE}(weights, prepared, NULL);" if program.prepare else "(void)weights, (void)prepared;"
    run = [
        *ports.before("arena", [f"inputs[{i}]" for i in range(len(program.inputs))]),
        f"{ENTRY}(weights, prepared, arena{state});",
        *ports.after("arena", [f"outputs[{i}]" for i in range(len(program.outputs))]),
        *ports.end("arena"),
    ]
    return render_library(program, prefix, declarations, prepare, run, "threads.c")
