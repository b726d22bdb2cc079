"""A program as a wasm module."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..codegen.llvm_module import LlvmModule
from ..codegen.render_host import PROFILE, entries, render_host
from ..codegen.whole_loop import PARALLEL_FOR
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

CANARY = "canary"
_CANARY = f"""define void @@(ptr %vectors) #0 {{
entry:
  call void @{PARALLEL_FOR}(ptr @BODY, ptr %vectors, i32 256)
  ret void
}}"""
_CANARY_BODY = """define void @@(ptr %vectors, i32 %begin, i32 %end) #0 {
entry:
  br label %next
next:
  %i = phi i32 [ %begin, %entry ], [ %after, %next ]
  %at = getelementptr <4 x float>, ptr %vectors, i32 %i
  %x = load <4 x float>, ptr %at
  %square = fmul contract <4 x float> %x, %x
  %sum = fadd contract <4 x float> %square, %x
  store <4 x float> %sum, ptr %at
  %after = add i32 %i, 1
  %more = icmp slt i32 %after, %end
  br i1 %more, label %next, label %done
done:
  ret void
}"""
"""x * x + x in place of each x: a chunk that is left out shows, and so does one that is done twice."""


def render_module(program: Program) -> str:
    """The LLVM IR of a program for wasm32."""
    return _render(program, None, profiled=True).text(HEADER)


def _render(program: Program, cache: Cache | None, *, profiled: bool) -> LlvmModule:
    module = LlvmModule()
    render_host(program, module, cache, profiled=profiled, numbered=True)
    if module.calls(PARALLEL_FOR):
        module.add(CHUNK, _CHUNK, internal=False)
    return module


def build_module(
    program: Program, *, relaxed: bool, linker: str = "builtin", cache: Cache | None = None, canary: bool = False
) -> Linked:
    """The wasm module of a program: exports `run(weights, arena)`, perhaps `prepare(weights, arena, number)` for each
    launch at load, and `profile`, which calls the imported `env.clock` after each step; imports `env.memory`.

    Where the program has loops for several cores, it also imports `env.parallel_for(body, arguments, extent)`, exports
    `chunk(body, arguments, begin, end)` and its stack pointer. SHARED_LIMITS at the byte `shared_at` then makes it a
    module for threads, each with an instance of its own. With `canary` it exports `canary(vectors)`, too, such a loop
    by which threads show that they compute rightly.
    """
    rendered = _render(program, cache, profiled=True)
    exports = [*entries(program), PROFILE]
    if canary and rendered.calls(PARALLEL_FOR):
        body = rendered.add("cores", _CANARY_BODY)
        exports.append(rendered.add(CANARY, _CANARY.replace("BODY", body), internal=False))
    return _link(rendered, exports, relaxed, linker, cache)


def build_host(program: Program, *, linker: str = "builtin", cache: Cache | None = None) -> Linked:
    """The module, of plain SIMD, of a device program's host: as that of `build_module`, but without `profile`, and with
    `segment_0(weights, arena)`, `segment_1`, ... in place of `run`."""
    return _link(_render(program, cache, profiled=False), entries(program), False, linker, cache)


def _link(rendered: LlvmModule, exports: Sequence[str], relaxed: bool, linker: str, cache: Cache | None) -> Linked:
    from .emit import emit_object

    shared = rendered.calls(PARALLEL_FOR)
    code = emit_object(rendered.text(HEADER), relaxed=relaxed, threads=shared, cache=cache)
    if not shared:
        return link(code, exports, linker=linker, stack_bytes=STACK_BYTES)
    linked = link(code, [*exports, CHUNK], linker=linker, stack_bytes=STACK_BYTES, shared=True, max_pages=MAX_PAGES)
    module = bytearray(linked.module)
    at = limits_at(linked.module)
    assert module[at] == SHARED_LIMITS
    module[at] = UNSHARED_LIMITS
    return replace(linked, module=bytes(module), shared_at=at)
