"""A program as a wasm module, and a model that runs it outside a browser."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from weakref import WeakMethod

import numpy as np

from ..codegen.llvm_function import PARALLEL_FOR
from ..codegen.llvm_module import LlvmModule
from ..codegen.render_host import CLOCK, CLOCK_LAUNCH, ENTRY, PREPARE, PROFILE, entries, is_structured, render_host
from ..codegen.render_launches import render_launches
from ..program.arrays import read_outputs, write_inputs
from ..program.device_program import DeviceProgram
from ..program.ports import check_out, copy_out
from ..program.program import Program, check_wasm32
from ..system.cache import Cache
from .binary import SHARED_LIMITS, UNSHARED_LIMITS, limits_at
from .execute import HostFunction, Number, WasmInstance
from .linkers import Linked, link
from .triple import HEADER

Array = np.ndarray

PAGE = 65536
ALIGN = 64
MAX_PAGES = 65536
STACK_BYTES = 65536

CHUNK = "chunk"
_CHUNK = """define void @@(ptr %body, ptr %arguments, i32 %begin, i32 %end) #0 {
entry:
  call void %body(ptr %arguments, i32 %begin, i32 %end)
  ret void
}"""
"""How `parallel_for`, which is imported, calls a loop's body."""


def render_module(program: Program) -> str:
    """The LLVM IR of a program for wasm32."""
    return _render(program, None).text(HEADER)


def _render(program: Program, cache: Cache | None) -> LlvmModule:
    module = LlvmModule()
    render_host(program, module, cache, profiled=True)
    _add_chunk(module)
    return module


def _add_chunk(module: LlvmModule) -> None:
    if module.calls(PARALLEL_FOR):
        module.add(CHUNK, _CHUNK, internal=False)


def build_module(program: Program, *, relaxed: bool, linker: str = "builtin", cache: Cache | None = None) -> Linked:
    """The wasm module of a program: exports `run(weights, arena)`, perhaps `prepare`, and `profile`, which calls the
    imported `env.clock` after each step; imports `env.memory`.

    Where the program has loops for several cores, it also imports `env.parallel_for(body, arguments, extent)`, exports
    `chunk(body, arguments, begin, end)` and its stack pointer. SHARED_LIMITS at the byte `shared_at` then makes it a
    module for threads, each with an instance of its own.
    """
    return _link(_render(program, cache), [*entries(program), PROFILE], relaxed, linker, cache, STACK_BYTES)


def build_launcher(program: DeviceProgram, *, linker: str = "builtin", cache: Cache | None = None) -> Linked:
    """The host's part of a device program as a module of plain SIMD, which exports the program's entries, with weights
    and arena of the host as arguments.

    It imports `env.launch(number)`, and `env.give(call)` where the host computes anything; then memory too, and what
    `build_module` says of loops for several cores.
    """
    module = LlvmModule()
    exports = render_launches(program, module, cache)
    _add_chunk(module)
    # Launches alone take no stack, and so no memory.
    return _link(module, exports, False, linker, cache, STACK_BYTES if program.host is not None else 0)


def _link(
    rendered: LlvmModule, exports: Sequence[str], relaxed: bool, linker: str, cache: Cache | None, stack_bytes: int
) -> Linked:
    from .emit import emit_object

    shared = rendered.calls(PARALLEL_FOR)
    code = emit_object(rendered.text(HEADER), relaxed=relaxed, threads=shared, cache=cache)
    if not shared:
        return link(code, exports, linker=linker, stack_bytes=stack_bytes)
    linked = link(code, [*exports, CHUNK], linker=linker, stack_bytes=stack_bytes, shared=True, max_pages=MAX_PAGES)
    module = bytearray(linked.module)
    at = limits_at(linked.module)
    assert module[at] == SHARED_LIMITS
    module[at] = UNSHARED_LIMITS
    return replace(linked, module=bytes(module), shared_at=at)


class WasmModel:
    """A linked program run by wasmtime (extra `verify`), called like a NativeModel: runs of several threads
    wait for each other."""

    def __init__(self, program: Program, linked: Linked, *, relaxed: bool) -> None:
        self.backend = "wasm-relaxed" if relaxed else "wasm"
        self.program = program
        self._lock = threading.RLock()
        weights = len(program.weights) + program.prepared
        check_wasm32(program.name, linked.heap_base + ALIGN, weights, program.arena)
        self._weights = linked.heap_base
        self._arena = -(-(self._weights + weights) // ALIGN) * ALIGN
        pages = -(-(self._arena + program.arena) // PAGE)
        functions = {
            PARALLEL_FOR: _weakly(self._one_thread),
            CLOCK: _weakly(self._note_time),
            CLOCK_LAUNCH: _weakly(self._note_launch),
        }
        self._instance = WasmInstance(linked.module, pages=max(pages, 1), relaxed=relaxed, imports=functions)
        memory = self._instance.memory
        memory[self._weights : self._weights + len(program.weights)] = np.frombuffer(program.weights, np.uint8)
        # Whatever is read before it is written shows as NaN.
        memory[self._arena :] = 0xFF
        if program.prepare:
            self._instance.call(PREPARE, self._weights, self._arena)

    def run(self, inputs: Mapping[str, object], *, out: Mapping[str, Array] | None = None) -> dict[str, Array]:
        """Outputs by name; `out` and errors are those of NativeModel."""
        if out is not None:
            check_out(self.program.outputs, out)
        with self._lock:
            arena = self._instance.memory[self._arena :]
            write_inputs(arena, self.program, inputs)
            self._instance.call(ENTRY, self._weights, self._arena)
            found = read_outputs(arena, self.program)
        return copy_out(self.program.outputs, found, out)

    def profile(self, inputs: Mapping[str, object]) -> list[float]:
        """Milliseconds of each launch, in the order of the program's; of one that is repeated the sum of all times."""
        with self._lock:
            write_inputs(self._instance.memory[self._arena :], self.program, inputs)
            self._times = [time.perf_counter()]
            self._launches: list[int] = []
            self._instance.call(PROFILE, self._weights, self._arena)
            spans, launches = [(b - a) * 1e3 for a, b in pairwise(self._times)], self._launches
        if not is_structured(self.program):
            return spans
        found = [0.0] * len(self.program.launches)
        for launch, span in zip(launches, spans, strict=True):
            found[launch] += span
        return found

    def _note_time(self) -> None:
        self._times.append(time.perf_counter())

    def _note_launch(self, launch: int) -> None:
        self._launches.append(launch)
        self._note_time()

    def _one_thread(self, body: int, arguments: int, extent: int) -> None:
        self._instance.call(CHUNK, body, arguments, 0, extent)


def _weakly(method: Callable[..., None]) -> HostFunction:
    """wasmtime holds what a module imports as long as its store lives, which the method's object holds: unless one of
    the two holds the other weakly, no model is ever freed."""
    held = WeakMethod(method)

    def call(*args: Number) -> None:
        found = held()
        assert found is not None
        found(*args)

    return call
