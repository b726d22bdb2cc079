"""Figures as tables: for a terminal, and as Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table
from webnn_compile.cli.terminal import cell

from .bundles import Comparison
from .cases import shown
from .engines import ENGINES
from .summary import Key, Rounds, ratios, summarise


@dataclass(frozen=True, slots=True)
class Grid:
    """`left` is the number of columns that hold names."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int


def engine_grid(measured: Mapping[Key, Rounds]) -> Grid:
    """One row for each case, browser and engine."""
    head = (
        "model",
        "where",
        "engine",
        "median ms",
        "min ms",
        "ratio of medians (of minima)",
        "first ms",
        "error",
        "others",
    )
    rows = []
    for key, rounds in measured.items():
        case, browser, engine = key
        names = (shown(case), browser or "native", ENGINES[engine].label)
        summary = summarise(rounds)
        if isinstance(summary, str):
            rows.append((*names, "-", "-", f"failed: {summary}", "-", "-", "-"))
            continue
        compared = "; ".join(f"{r.median:.2f} ({r.minimum:.2f}) x {r.baseline}" for r in ratios(key, measured))
        busy = "/".join(f"{o:.1f}" for o in summary.others) or "?"
        times = (f"{summary.median:.2f}", f"{summary.minimum:.2f}", compared, f"{summary.first:.0f}")
        rows.append((*names, *times, f"{summary.error:.0e}", busy))
    return Grid("Inference, milliseconds", head, tuple(rows), 3)


def bundle_grid(compared: Sequence[Comparison]) -> Grid:
    """One row for each model: files and bytes of both trees, medians of seconds and of the most memory."""
    head = (
        "model",
        "files equal",
        "different",
        "only before",
        "only after",
        "bytes",
        "seconds",
        "ratio",
        "MB",
        "ratio",
    )
    rows = []
    for c in compared:
        files = (str(len(names)) for names in (c.equal, c.different, c.only_before, c.only_after))
        sizes = f"{c.bytes_before:,} -> {c.bytes_after:,}"
        seconds, peak = (
            " -> ".join(f"{statistics.median(getattr(m, fact) for m in side):.1f}" for side in (c.before, c.after))
            for fact in ("seconds", "peak_mb")
        )
        rows.append((c.model, *files, sizes, seconds, f"{c.ratio('seconds'):.2f}", peak, f"{c.ratio('peak_mb'):.2f}"))
    return Grid("Bundles before and after", head, tuple(rows), 1)


def kernel_grid(profile: Mapping[str, Any]) -> Grid:
    """One row for each launch, slowest first, and the sum."""
    where = profile["browser"] or "native"
    title = (
        f"Kernels of {shown(profile['case'])}, {where}, one thread; at most {profile['gflops']:.1f} GFLOP/s and "
        f"{profile['gbytes']:.1f} GB/s here"
    )
    head = ("kernel", "nodes", "ms", "GFLOP/s", "of peak", "MB", "GB/s", "of bandwidth")
    kernels: Sequence[Mapping[str, Any]] = profile["kernels"]
    rows = []
    for k in sorted(kernels, key=lambda k: -k["ms"]):
        rows.append((k["name"], _nodes(k["nodes"]), *_rates(k["ms"], k["flops"], k["bytes"], profile)))
    total = [sum(k[name] for k in kernels) for name in ("ms", "flops", "bytes")]
    rows.append(("all", f"{len(kernels)} launches", *_rates(*total, profile)))
    return Grid(title, head, tuple(rows), 2)


def _rates(ms: float, flops: float, size: float, profile: Mapping[str, Any]) -> tuple[str, ...]:
    seconds = ms / 1e3
    if seconds <= 0:
        return (f"{ms:.3f}", "-", "-", f"{size / 1e6:.2f}", "-", "-")
    gflops, gbytes = flops / seconds / 1e9, size / seconds / 1e9
    work = (f"{ms:.3f}", f"{gflops:.1f}", f"{gflops / profile['gflops']:.0%}")
    return (*work, f"{size / 1e6:.2f}", f"{gbytes:.1f}", f"{gbytes / profile['gbytes']:.0%}")


def _nodes(names: Sequence[str]) -> str:
    return names[0] + (f" and {len(names) - 1} more" if len(names) > 1 else "") if names else ""


def print_grid(grid: Grid, console: Console) -> None:
    table = Table(title=cell(grid.title), title_justify="left")
    for n, name in enumerate(grid.head):
        table.add_column(cell(name), justify="left" if n < grid.left else "right", overflow="fold")
    for row in grid.rows:
        table.add_row(*map(cell, row))
    console.print(table)


def markdown(grid: Grid) -> str:
    """The table, without its title."""
    lines = [grid.head, tuple("---" if n < grid.left else "--:" for n in range(len(grid.head))), *grid.rows]
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines)
