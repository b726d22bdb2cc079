"""What a build says at its end: a table for people, JSON for programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from .errors import InputError

if TYPE_CHECKING:
    from .build import Report


def print_report(report: Report, out: Path, console: Console) -> None:
    """Operators, sizes, memory, times and files, as a table."""
    program = report.program
    assert program is not None
    table = Table(title=f"{report.model} -> {out}", show_header=False, title_justify="left")
    table.add_column(style="bold")
    table.add_column()
    table.add_row("operators", f"{report.operators} in the model, {report.graph_nodes} after optimisation")
    table.add_row("kernels", f"{len(program.kernels)} for {len(program.steps)} launches")
    table.add_row("weights", size(len(program.weights)))
    table.add_row("code", ", ".join(f"{size(n)} ({name})" for name, n in report.code_bytes.items()))
    scripts = sum(f.bytes for f in report.files if f.kind not in ("weights", "wasm"))
    table.add_row("JavaScript and page", size(scripts))
    table.add_row("memory", f"{size(len(program.weights) + program.arena)}, of that {size(program.arena)} for tensors")
    table.add_row("time", ", ".join(f"{name} {s:.2f} s" for name, s in report.seconds.items()))
    for c in report.comparisons:
        table.add_row("verified", f"{c.backend}: largest error {c.error:.2e} of {c.output!r} (relative to its scale)")
    console.print(table)
    files = Table(show_header=True)
    files.add_column("file")
    files.add_column("size", justify="right")
    for f in report.files:
        files.add_row(f.name, size(f.bytes))
    console.print(files)


def write_report(report: Report, path: Path) -> None:
    """The report as JSON: times in seconds, sizes in bytes. Raises InputError where it cannot be written."""
    program = report.program
    assert program is not None
    data = {
        "model": report.model,
        "operators": {"model": report.operators, "optimised": report.graph_nodes},
        "kernels": len(program.kernels),
        "launches": [{"kernel": s.name, "nodes": s.nodes, "operators": s.ops} for s in program.steps],
        "inputs": [{"name": t.name, "dtype": str(t.dtype), "shape": t.shape} for t in program.inputs],
        "outputs": [{"name": t.name, "dtype": str(t.dtype), "shape": t.shape} for t in program.outputs],
        "bytes": {"weights": len(program.weights), "arena": program.arena, "code": report.code_bytes},
        "seconds": report.seconds,
        "verified": [{"backend": c.backend, "output": c.output, "error": c.error} for c in report.comparisons],
        "files": [{"name": f.name, "bytes": f.bytes, "kind": f.kind} for f in report.files],
    }
    try:
        path.write_text(json.dumps(data, indent=1) + "\n")
    except OSError as error:
        raise InputError(f"--report {path}: cannot be written: {error.strerror or error}") from None


def size(n: int) -> str:
    """A number of bytes in decimal units."""
    for unit, step in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if n >= step:
            return f"{n / step:.1f} {unit}"
    return f"{n} bytes"
