"""Assigns device memory to values: storages are shared by values whose live ranges do not overlap."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Need:
    """`size` bytes from step `first` to step `last`, both included. Needs of different `kind` never share."""

    size: int
    first: int
    last: int
    kind: Hashable


def plan_storages(needs: Sequence[Need]) -> tuple[list[int], list[int]]:
    """The storage of each need, and the size of each storage.

    In order of time, best fit among the free storages, else the largest free one grows: a GPU's buffers and textures
    are separate objects, shared as a whole or not at all.
    """
    chosen = [0] * len(needs)
    sizes: list[int] = []
    kinds: list[Hashable] = []
    live_until: list[int] = []
    for i in sorted(range(len(needs)), key=lambda i: (needs[i].first, -needs[i].size, i)):
        n = needs[i]
        free = [s for s in range(len(sizes)) if kinds[s] == n.kind and live_until[s] < n.first]
        fitting = [s for s in free if sizes[s] >= n.size]
        if fitting:
            at = min(fitting, key=lambda s: (sizes[s], s))
        elif free:
            at = max(free, key=lambda s: (sizes[s], -s))
        else:
            at = len(sizes)
            sizes.append(0)
            kinds.append(n.kind)
            live_until.append(0)
        sizes[at] = max(sizes[at], n.size)
        live_until[at] = max(n.last, n.first)
        chosen[i] = at
    return chosen, sizes
