"""The host program: LLVM functions that run the steps of a Program."""

from __future__ import annotations

from collections.abc import Sequence

from ..program import Program, Region, Slot, Step
from ..recursion import deep_recursion
from .llvm_function import render_kernel
from .llvm_module import LlvmModule

ENTRY = "run"
PREPARE = "prepare"


@deep_recursion()
def render_host(program: Program, module: LlvmModule) -> None:
    """Adds the kernels and `void run(ptr weights, ptr arena)`, which calls them in order; beside it the function
    `prepare` of the same signature, where the program has anything to prepare.

    What is prepared lies behind the weights, which are a multiple of 64 bytes.
    """
    names = [render_kernel(k, module) for k in program.kernels]
    for entry in entries(program):
        steps = program.steps if entry == ENTRY else program.prepare
        module.add(entry, _render(steps, names, len(program.weights)), internal=False)


def entries(program: Program) -> list[str]:
    """The functions that a program's module exports."""
    return [ENTRY, PREPARE] if program.prepare else [ENTRY]


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
