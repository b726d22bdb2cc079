"""The host program of a GPU's program: LLVM functions that launch its kernels in order."""

from __future__ import annotations

from ..program.device_program import LOAD, DeviceProgram, Entry
from ..program.program import segment_entry
from ..system.cache import Cache
from .llvm_module import LlvmModule
from .render_host import PREPARE, render_host

LAUNCH = "launch"
"""`void launch(i32)` of the runtime carries out a launch, by its number in `DeviceProgram.launches`."""

GIVE = "give"
"""`void give(i32)` of the runtime hands the device what a call of the host wrote, by its number among the calls."""


def render_launches(program: DeviceProgram, module: LlvmModule, cache: Cache | None = None) -> list[str]:
    """Adds a function for each of the program's entries, and gives their names, and those of the host's segments where
    the runtime carries out the steps.

    All are called with the addresses of the host's weights and arena, which mean nothing where it computes nothing.
    """
    if program.host is not None:
        render_host(program.host, module, cache)
        module.declare(f"void @{GIVE}(i32)")
    if program.launches:
        module.declare(f"void @{LAUNCH}(i32)")
    for entry in program.entries:
        body = "".join(f"  call void @{line}\n" for line in _calls(program, entry))
        text = f"define void @@(ptr %weights, ptr %arena) #0 {{\nentry:\n{body}  ret void\n}}"
        module.add(entry.name, text, internal=False)
    segments = [] if program.is_fixed else [segment_entry(i) for i in range(len(program.calls))]
    return [*(entry.name for entry in program.entries), *segments]


def _calls(program: DeviceProgram, entry: Entry) -> list[str]:
    memory = "(ptr %weights, ptr %arena)"
    prepares = entry.name == LOAD and program.host is not None and program.host.prepare
    host = [f"{PREPARE}{memory}"] if prepares else []
    if entry.call is not None:
        host = [f"{segment_entry(entry.call)}{memory}", f"{GIVE}(i32 {entry.call})"]
    return [*host, *(f"{LAUNCH}(i32 {number})" for number in entry.launches)]
