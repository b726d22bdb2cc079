"""Fuses reduction loops that traverse contiguous memory."""

from __future__ import annotations

from ...ir.nest import Reduction, match_reduction
from ...ir.nodes import Stmt
from ...ir.simplify import simplify_stmt
from ..access import contiguous
from ..steps import fuse


def merge_reduction(stmt: Stmt) -> tuple[Stmt, Reduction]:
    """Fuses reduction loops from the inside out where memory is contiguous: (kernel column, channel) is one run."""
    nest = match_reduction(stmt)
    if len(nest.over) < 2 or not contiguous(nest.value, *nest.over[-2:]):
        return stmt, nest
    fused, _ = fuse(stmt, *nest.over[-2:])
    return merge_reduction(simplify_stmt(fused))
