"""Static memory plan: where in one arena each stored tensor lies, by its live range."""

from __future__ import annotations

from dataclasses import dataclass

ALIGNMENT = 64
"""Bytes: a cache line, and more than any vector access needs."""


@dataclass(frozen=True, slots=True)
class Request:
    """`size` bytes that must keep their contents from step `first` to step `last`, both included."""

    size: int
    first: int
    last: int

    def meets(self, other: Request) -> bool:
        """Whether both live at some step."""
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True, slots=True)
class Plan:
    """A byte offset per request, and the size of the arena that holds them all."""

    offsets: tuple[int, ...]
    peak: int


def plan_memory(requests: list[Request]) -> Plan:
    """Largest first, each at the lowest gap among those that live at the same time (greedy by size: Pisarchyk and Lee,
    "Efficient Memory Management for Deep Neural Net Inference", 2020)."""
    order = sorted(range(len(requests)), key=lambda i: (-requests[i].size, requests[i].first, i))
    placed: list[tuple[int, int, Request]] = []
    offsets = [0] * len(requests)
    peak = 0
    for i in order:
        r = requests[i]
        size = aligned(r.size)
        at = 0
        for start, end, other in sorted(placed, key=lambda p: p[:2]):
            if not r.meets(other):
                continue
            if start - at >= size:
                break
            at = max(at, end)
        offsets[i] = at
        placed.append((at, at + size, r))
        peak = max(peak, at + size)
    return Plan(tuple(offsets), peak)


def lower_bound(requests: list[Request]) -> int:
    """The most bytes that live at any one step: no plan needs less."""
    steps = {r.first for r in requests}
    return max((sum(aligned(r.size) for r in requests if r.first <= s <= r.last) for s in steps), default=0)


def aligned(size: int) -> int:
    """`size` bytes, and what is left of the last cache line."""
    return -(-max(size, 1) // ALIGNMENT) * ALIGNMENT
