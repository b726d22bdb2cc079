"""Reduction loops that walk through memory as one become one."""

from __future__ import annotations

from ...ir.nodes import Stmt
from ...ir.simplify import simplify_stmt
from ..access import contiguous
from ..nest import Reduction, match_nest
from ..steps import fuse


def merge_reduction(stmt: Stmt) -> Stmt:
    """Fuses reduction loops from the inside out where memory is contiguous: (kernel column, channel) is one run."""
    nest = match_nest(stmt)
    assert isinstance(nest, Reduction)
    over = list(nest.over)
    while len(over) > 1 and contiguous(nest.update.value, over[-2], over[-1]):
        stmt, fused = fuse(stmt, over[-2], over[-1])
        over[-2:] = [fused]
    return simplify_stmt(stmt)
