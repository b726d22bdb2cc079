"""The host program: LLVM functions that run the steps of a Program."""

from __future__ import annotations

from collections.abc import Sequence

from ..program.program import Program, Region, Slot, Step, segment_entry
from ..system.cache import Cache
from ..system.recursion import deep_recursion
from .llvm_function import render_kernel
from .llvm_module import LlvmModule

CODE = "llvm"
"""The kind of cache entry that a kernel's functions are."""

STEPS = 200
"""Calls in one function: browsers compile large functions late or badly."""

ENTRY = "run"
PREPARE = "prepare"
PROFILE = "profile"
CLOCK = "clock"
"""`void clock()` of the target notes the time."""


@deep_recursion()
def render_host(
    program: Program,
    module: LlvmModule,
    cache: Cache | None = None,
    *,
    profiled: bool = False,
    apart: bool = False,
) -> None:
    """Adds the kernels and `void run(ptr weights, ptr arena)`, which calls them in order (`segment_0`, `segment_1`, ...
    for a program in segments); beside it the function `prepare` of the same signature, where the program has anything
    to prepare.

    With `profiled` there is `profile` too, the same as `run` but with a call of `clock()` after each step. What is
    prepared follows the weights, which are a multiple of 64 bytes; with `apart` it lies elsewhere: then the functions
    are `(ptr weights, ptr prepared, ptr arena)`, and hidden from those who load a library. Kernels whose code `cache`
    holds are not rendered.
    """
    names = []
    for number in range(len(program.kernels)):
        part = _kernel_code(program, number, cache)
        module.merge(part)
        names.append(part.last)
    functions = _functions(program)
    if profiled:
        functions[PROFILE] = program.steps
        module.declare(f"void @{CLOCK}()")
    params = ", ".join(f"ptr %{region.value}" for region in Region if apart or region != Region.PREPARED)
    prepared = None if apart else len(program.weights)
    for entry, steps in functions.items():
        after = [f"  call void @{CLOCK}()"] if entry == PROFILE else []
        parts = [_render(steps[i : i + STEPS], names, prepared, after) for i in range(0, len(steps), STEPS)]
        if len(parts) > 1:
            own = [module.add("steps", _function("internal ", params, part)) for part in parts]
            parts = ["\n".join(f"  call void @{name}({params})" for name in own)]
        module.add(entry, _function("hidden " if apart else "", params, "".join(parts)), internal=False)


def entries(program: Program) -> list[str]:
    """The functions that a program's module exports, all called with the addresses of weights and arena."""
    return list(_functions(program))


def _functions(program: Program) -> dict[str, tuple[Step, ...]]:
    found = {segment_entry(i): program.steps[first:last] for i, (first, last) in enumerate(program.segments)}
    return (found or {ENTRY: program.steps}) | ({PREPARE: program.prepare} if program.prepare else {})


def _kernel_code(program: Program, number: int, cache: Cache | None) -> LlvmModule:
    """The functions of one kernel; the last is the one to call."""
    key = program.keys[number] if program.keys and cache is not None else None
    found = cache.get(CODE, key) if cache is not None and key is not None else None
    if found is not None:
        return LlvmModule.from_json(found.decode())
    part = LlvmModule()
    render_kernel(program.kernels[number], part)
    if cache is not None and key is not None:
        cache.put(CODE, key, part.to_json().encode())
    return part


def _render(steps: Sequence[Step], names: Sequence[str], prepared: int | None, after: Sequence[str]) -> str:
    """The instructions of some steps, each followed by the lines `after`. What is prepared lies so many bytes from the
    weights, or has its own pointer."""
    lines: list[str] = []
    for step in steps:
        arguments = []
        for slot in step.arguments:
            pointer = f"%a{len(lines)}"
            lines.append(f"  {pointer} = getelementptr inbounds i8, ptr {_place(slot, prepared)}")
            arguments.append(f"ptr {pointer}")
        lines.append(f"  call void @{names[step.kernel]}({', '.join(arguments)})  ; {step.name}")
        lines += after
    return "\n".join(lines)


def _function(linkage: str, params: str, body: str) -> str:
    return f"define {linkage}void @@({params}) noinline #0 {{\nentry:\n{body}\n  ret void\n}}"


def _place(slot: Slot, prepared: int | None) -> str:
    if slot.region == Region.PREPARED and prepared is not None:
        return f"%{Region.WEIGHTS.value}, i64 {prepared + slot.offset}"
    return f"%{slot.region.value}, i64 {slot.offset}"
