"""The quantised layers of a build as a table."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf, isfinite
from typing import TYPE_CHECKING

from rich.table import Table

from ..text.size import size
from .terminal import is_terminal, say, show_table

if TYPE_CHECKING:
    from ..quantization.result import Quantization

WIDTH = 120
"""Columns where the output is no terminal."""
_SHOWN = 6
"""So many layers are listed by name."""
_NUMBERS = ("bytes", "own error", "in the model")


def describe_quantization(q: Quantization) -> Iterable[tuple[str, str]]:
    fewer = [x for x in q.layers if not x.kept]
    before, after = (sum(x.bytes[i] for x in q.layers) for i in (0, 1))
    yield "quantised", f"{len(fewer)} of {len(q.layers)} layers: {q.form}; weights {size(before)} -> {size(after)}"
    if not q.samples:
        yield "", "errors are those of the weights alone: without LLVM the model does not run here"
    else:
        errors = ", ".join(f"{name} {_error(e)}" for name, e in q.outputs.items())
        yield "", f"error of outputs on {q.samples} {'run' if q.samples == 1 else 'runs'}: {errors}"
    if q.exact is not None and q.accuracy is not None:
        yield "", f"top-1: {q.accuracy.right} of {q.accuracy.of} right, in float32 {q.exact.right}"
    for what, names in (("equalised", q.equalized), ("bias corrected", q.corrected)):
        if names:
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            yield "", f"{what}, which reduced errors: {', '.join(names[:_SHOWN])}{more}"


def _error(error: float) -> str:
    return f"{error:.2%}" if isfinite(error) else "no number"


def print_layers(q: Quantization, *, stderr: bool) -> None:
    """A table of all layers, those with the largest errors first."""
    say("", err=stderr)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("layer", "operator", "weights", "bytes", "own error", "in the model", ""):
        table.add_column(column, justify="right" if column in _NUMBERS else "left")
    rows = []
    for x in sorted(q.layers, key=lambda x: -x.own if isfinite(x.own) else -inf):
        in_model = "-" if x.in_model is None else _error(x.in_model)
        rows.append((x.node, x.operator, x.form, size(x.bytes[1]), _error(x.own), in_model, x.kept))
    show_table(table, rows, width=None if is_terminal() else WIDTH, stderr=stderr)
