"""`webnn-compile --list-targets`: what models can be compiled for, and what of it this machine runs."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from ..build.compile_target import CompileTarget
from ..build.targets import TARGETS
from ..errors import InputError
from ..tune.problem import TUNED
from .plain import plain

WIDTH = 110
"""Columns where the output is no terminal."""


def print_targets() -> None:
    """A line for each target."""
    console = Console()
    if not console.is_terminal:
        console.width = WIDTH
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("target", "runs on", "for", "here"):
        table.add_column(column, no_wrap=column in ("target", "for"))
    for row in TARGETS.values():
        table.add_row(row.name, row.about, _uses(row), plain(_here(row)))
    console.print(table)
    console.print(
        "\nbundle, library, source: webnn-compile --targets; Python: webnn_compile.compile(model, target); "
        "tune: webnn-tune --target.",
        highlight=False,
        markup=False,
    )


def _uses(row: CompileTarget) -> str:
    alone = row.writer().makes if row.writer else ""
    uses = {"bundle": row.preference is not None, alone: alone, "Python": True, "tune": row.name in TUNED}
    return ", ".join(name for name, has in uses.items() if has)


def _here(row: CompileTarget) -> str:
    try:
        return row.probe() if row.probe is not None else ""
    except InputError as error:
        return f"no: {str(error).removeprefix(f'target {row.name}: ')}"
