"""A program as a wasm module."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..codegen.llvm_function import PARALLEL_FOR
from ..codegen.llvm_module import LlvmModule
from ..codegen.render_host import PROFILE, entries, render_host
from ..codegen.render_launches import render_launches
from ..program.device_program import DeviceProgram
from ..program.program import Program
from ..system.cache import Cache
from .binary import SHARED_LIMITS, UNSHARED_LIMITS, limits_at
from .linkers import Linked, link
from .triple import HEADER

PAGE = 65536
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
