"""Tensors that a program computes at load, for reports."""

from __future__ import annotations

from dataclasses import dataclass

from .device_program import DeviceProgram
from .program import Program


@dataclass(frozen=True, slots=True)
class Prepared:
    """A tensor that a kernel computes once, at load: the `nodes` and `operators` that it covers, its size in memory."""

    nodes: tuple[str, ...]
    operators: tuple[str, ...]
    bytes: int


def find_prepared(program: Program | DeviceProgram) -> tuple[Prepared, ...]:
    """The tensors that operators compute at load, each in the layout of its readers: not the constants that are packed
    otherwise then."""
    if isinstance(program, DeviceProgram):
        held = [program.storages[program.values[s.arguments[-1]].storage].bytes for s in program.prepare]
        return tuple(Prepared(s.nodes, s.ops, n) for s, n in zip(program.prepare, held, strict=True) if s.ops)
    ordered = sorted(program.prepare, key=lambda s: s.arguments[-1].offset)
    starts = [*(s.arguments[-1].offset for s in ordered), program.prepared]
    return tuple(Prepared(s.nodes, s.ops, starts[i + 1] - starts[i]) for i, s in enumerate(ordered) if s.ops)
