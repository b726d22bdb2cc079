"""`webnn-compile --list-targets`: what models can be compiled for, and what of it this machine runs."""

from __future__ import annotations

from rich.table import Table

from ..driver.compile_target import CompileTarget
from ..driver.targets import TARGETS, bundled_targets
from ..errors import InputError
from ..tune.problem import TUNED
from .terminal import is_terminal, say, show_table

WIDTH = 110
"""Columns where the output is no terminal."""
HERE = "run from Python here"


def print_targets() -> None:
    """A line for each target."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("target", "runs on", "for", HERE):
        table.add_column(column, no_wrap=column in ("target", "for"))
    rows = ((row.name, row.about, _uses(row), _here(row)) for row in TARGETS.values())
    show_table(table, rows, width=None if is_terminal() else WIDTH)
    say(f"\nThe last column is about running in Python: bundles for {', '.join(bundled_targets())} need no extra.")
    say(
        "bundle, library, source: webnn-compile --targets; Python: webnn_compile.compile(model, target); "
        "tune: webnn-tune --target."
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
