"""The host program: LLVM functions that run the steps of a Program."""

from __future__ import annotations

from collections.abc import Sequence

from ..cache import Cache
from ..program import Program, Region, Slot, Step
from ..recursion import deep_recursion
from .llvm_function import render_kernel
from .llvm_module import LlvmModule

CODE = "llvm"
"""The kind of cache entry that a kernel's functions are."""

ENTRY = "run"
PREPARE = "prepare"


@deep_recursion()
def render_host(program: Program, module: LlvmModule, known: Cache | None = None) -> None:
    """Adds the kernels and `void run(ptr weights, ptr arena)`, which calls them in order; beside it the function
    `prepare` of the same signature, where the program has anything to prepare.

    What is prepared lies behind the weights, which are a multiple of 64 bytes. Kernels that `known` has the code of are
    not rendered.
    """
    names = []
    for number in range(len(program.kernels)):
        part = _kernel_code(program, number, known)
        module.merge(part)
        names.append(part.last)
    for entry in entries(program):
        steps = program.steps if entry == ENTRY else program.prepare
        module.add(entry, _render(steps, names, len(program.weights)), internal=False)


def entries(program: Program) -> list[str]:
    """The functions that a program's module exports, both called with the addresses of weights and arena."""
    return [ENTRY, PREPARE] if program.prepare else [ENTRY]


def _kernel_code(program: Program, number: int, known: Cache | None) -> LlvmModule:
    """The functions of one kernel; the last is the one to call."""
    key = program.keys[number] if program.keys and known is not None else None
    found = known.get(CODE, key) if known is not None and key is not None else None
    if found is not None:
        return LlvmModule.from_json(found.decode())
    part = LlvmModule()
    render_kernel(program.kernels[number], part)
    if known is not None and key is not None:
        known.put(CODE, key, part.to_json().encode())
    return part


def _render(steps: Sequence[Step], names: Sequence[str], weights: int) -> str:
    lines: list[str] = []
    for step in steps:
        arguments = []
        for slot in step.arguments:
            pointer = f"%a{len(lines)}"
            lines.append(f"  {pointer} = getelementptr inbounds i8, ptr {_place(slot, weights)}")
            arguments.append(f"ptr {pointer}")
        lines.append(f"  call void @{names[step.kernel]}({', '.join(arguments)})  ; {step.name}")
    body = "\n".join(lines)
    return f"define void @@(ptr %weights, ptr %arena) #0 {{\nentry:\n{body}\n  ret void\n}}"


def _place(slot: Slot, weights: int) -> str:
    match slot.region:
        case Region.ARENA:
            return f"%arena, i64 {slot.offset}"
        case Region.WEIGHTS:
            return f"%weights, i64 {slot.offset}"
        case Region.PREPARED:
            return f"%weights, i64 {weights + slot.offset}"
