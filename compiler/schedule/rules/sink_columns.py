"""The innermost loops over columns become vectors."""

from __future__ import annotations

from collections.abc import Iterable

from ...ir.nodes import LoopKind, Stmt, Var
from ..steps import sink, split, tag, vector_segments, vectorise


def sink_columns(stmt: Stmt, columns: Iterable[Var], lanes: int) -> Stmt:
    """Each of the loops `columns` moves inside all others, as vectors that are written out."""
    for inner in columns:
        stmt = sink(stmt, inner)
        stmt, parts = split(stmt, inner, vector_segments(inner.extent, lanes))
        for outer, lane in parts:
            stmt = vectorise(tag(stmt, outer, LoopKind.UNROLL), lane, lanes)
    return stmt
