"""The host program: one LLVM function that runs every step of a Program."""

from __future__ import annotations

from ..program import Program, Slot
from ..recursion import deep_recursion
from .llvm_function import render_kernel
from .llvm_module import LlvmModule

ENTRY = "run"


@deep_recursion()
def render_host(program: Program, module: LlvmModule) -> None:
    """Adds the kernels and `void run(ptr weights, ptr arena)`, which calls them in order."""
    names = [render_kernel(k, module) for k in program.kernels]
    lines: list[str] = []
    for step in program.steps:
        arguments = []
        for slot in step.arguments:
            pointer = f"%a{len(lines)}"
            lines.append(f"  {pointer} = getelementptr inbounds i8, ptr {_base(slot)}, i64 {slot.offset}")
            arguments.append(f"ptr {pointer}")
        lines.append(f"  call void @{names[step.kernel]}({', '.join(arguments)})")
    body = "\n".join(lines)
    text = f"define void @@(ptr %weights, ptr %arena) #0 {{\nentry:\n{body}\n  ret void\n}}"
    module.add(ENTRY, text, internal=False)


def _base(slot: Slot) -> str:
    return "%weights" if slot.constant else "%arena"
