"""outline: each accumulator's region becomes a function of its own."""

from __future__ import annotations

from ...ir.nodes import Alloc, Outline, Stmt
from ...ir.rewrite import rewrite_top_down


def outline(stmt: Stmt) -> Stmt:
    """local acc; ...   ->   outline: local acc; ..."""
    return rewrite_top_down(stmt, lambda n: Outline(n) if isinstance(n, Alloc) else None)
