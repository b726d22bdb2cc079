"""Static memory plan: the offset of each stored tensor in one arena, by its live range."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

ALIGNMENT = 64
"""Bytes: of tensors in an arena, of weights, and of the memory that holds them. A cache line, more than any vector
access needs, and at least the alignment of uploads in every GPU API."""


@dataclass(frozen=True, slots=True)
class Request:
    """`size` bytes that must keep their contents from step `first` to step `last`, both included."""

    size: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Plan:
    """A byte offset per request, and the size of the arena that holds them all."""

    offsets: tuple[int, ...]
    peak: int


def plan_memory(requests: list[Request]) -> Plan:
    """Largest first, each at the lowest gap among those with overlapping live ranges (greedy by size: Pisarchyk and
    Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020)."""
    order = sorted(range(len(requests)), key=lambda i: (-requests[i].size, requests[i].first, i))
    sizes = np.asarray([aligned_size(requests[i].size) for i in order], np.int64)
    firsts = np.asarray([requests[i].first for i in order], np.int64)
    lasts = np.asarray([requests[i].last for i in order], np.int64)
    starts = np.zeros_like(sizes)
    for k, size in enumerate(sizes):
        overlapping = np.flatnonzero((firsts[:k] <= lasts[k]) & (firsts[k] <= lasts[:k]))
        overlapping = overlapping[np.argsort(starts[overlapping], kind="stable")]
        ends = starts[overlapping] + sizes[overlapping]
        free_from = np.maximum.accumulate(np.concatenate(([0], ends)))
        fits = starts[overlapping] - free_from[:-1] >= size
        starts[k] = free_from[np.argmax(fits) if fits.any() else -1]
    offsets = np.zeros_like(starts)
    offsets[order] = starts
    return Plan(tuple(offsets.tolist()), int((starts + sizes).max(initial=0)))


def lower_bound(requests: list[Request]) -> int:
    """The most bytes live at any one step: a lower bound of every plan."""
    steps = {r.first for r in requests}
    return max((sum(aligned_size(r.size) for r in requests if r.first <= s <= r.last) for s in steps), default=0)


def aligned_size(size: int) -> int:
    """The bytes that `size` bytes take: whole cache lines, at least one."""
    return align(max(size, 1))


def align(address: int) -> int:
    """The first aligned address from `address` on."""
    return -(-address // ALIGNMENT) * ALIGNMENT
