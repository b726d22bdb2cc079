"""How busy other processes kept the machine during a measurement (Linux; elsewhere nothing is known)."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Seconds: of the clock, of all cores, and of this process with those that it started."""

    clock: float
    all: float
    own: float


def snapshot() -> Snapshot | None:
    """None where there is no /proc."""
    try:
        fields = [int(x) for x in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    except OSError:
        return None
    idle = fields[3] + fields[4]
    tick = os.sysconf("SC_CLK_TCK")
    return Snapshot(time.perf_counter(), (sum(fields) - idle) / tick, _tree(os.getpid()) / tick)


def others(before: Snapshot | None, after: Snapshot | None) -> float | None:
    """Cores that other processes used between the two, on average."""
    if before is None or after is None:
        return None
    return max(0.0, (after.all - before.all - (after.own - before.own)) / (after.clock - before.clock))


def _tree(root: int) -> int:
    """Ticks of a process and its descendants, those that have ended included."""
    used: dict[int, int] = {}
    parts: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
                used[int(folder.name)] = sum(map(int, fields[11:15]))
                parts.setdefault(int(fields[1]), []).append(int(folder.name))
    todo, total = [root], 0
    while todo:
        process = todo.pop()
        total += used.get(process, 0)
        todo += parts.get(process, [])
    return total
