"""Memory over a run, by the plans that the programs were made with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..pipeline.lowered import Lowered
from ..program.device_program import DeviceProgram, ReadScalar
from ..program.live_ranges import LiveRange
from ..program.plan_memory import aligned_size
from ..program.program import Program
from ..program.steps import Branch, Loop
from ..program.steps import Steps as AnySteps
from .page_data import Block, Memory

Steps = AnySteps[Any, Any]


def describe_arena(lowered: Lowered, program: Program) -> Memory:
    """The memory of a program on processors: one arena. States are behind it, in memory of each session."""
    stored, labels = lowered.stored, tuple(_labels(program.steps))
    blocks = (
        Block(t.name, aligned_size(size), stored.offset[t], *_within(stored.live[t], labels))
        for t, size in stored.size.items()
        if t not in stored.states
    )
    fixed = (("weights", len(program.weights)), ("computed from weights at load", program.prepared))
    return Memory(program.arena, labels, tuple(blocks), _present(fixed), program.state_bytes)


def describe_storages(program: DeviceProgram) -> Memory:
    """The memory of a program on a GPU: buffers or textures, one above the other, which values share over time. Those
    of states are besides."""
    labels = tuple(_labels(program.steps))
    shared: dict[tuple[int, LiveRange], str] = {}
    for v in program.values:
        if v.live is not None and not program.storages[v.storage].state:
            shared.setdefault((v.storage, v.live), v.name)
    at, places = 0, dict[int, int]()
    for storage, _ in shared:
        if storage not in places:
            places[storage] = at
            at += program.storages[storage].bytes
    blocks = (
        Block(name, program.storages[storage].bytes, places[storage], *_within(live, labels))
        for (storage, live), name in shared.items()
    )
    others = [s for i, s in enumerate(program.storages) if i not in places and not s.prepare_only]
    constants, states = (sum(s.bytes for s in others if s.state == kept) for kept in (False, True))
    host = program.host
    fixed = (
        ("constants", constants),
        ("the host's weights", 0 if host is None else len(host.weights) + host.prepared),
        ("the host's values", 0 if host is None else host.arena),
    )
    return Memory(at, labels, tuple(blocks), _present(fixed), states)


def _present(fixed: tuple[tuple[str, int], ...]) -> tuple[tuple[str, int], ...]:
    return tuple((what, size) for what, size in fixed if size)


def _within(live: LiveRange, labels: tuple[str, ...]) -> tuple[int, int]:
    """Inputs are there before the first step, outputs after the last."""
    last = max(len(labels) - 1, 0)
    return min(max(live.first, 0), last), min(max(live.last, 0), last)


def _labels(steps: Steps) -> Iterator[str]:
    """The accesses of the timeline by which live ranges count (`tensor/place_tensors`)."""
    for step in steps:
        match step:
            case Loop(body=body):
                yield "loop begins"
                yield from _labels(body)
                yield "loop ends"
            case Branch(then=then, otherwise=otherwise):
                yield "branch"
                yield from _labels(then)
                yield from _labels(otherwise)
            case ReadScalar():
                pass
            case _:
                yield step.name
