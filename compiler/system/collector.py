"""The garbage collector of a process that only compiles."""

from __future__ import annotations

import gc

ALLOCATIONS = 20_000


def collect_less_often() -> None:
    """Trees of millions of nodes are made and dropped: at its default of 700 allocations the collector takes a fifth of
    the time, and frees no more."""
    gc.set_threshold(ALLOCATIONS, *gc.get_threshold()[1:])
