"""Applies a rule to every nest of a statement that earlier steps have cut into several."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...ir.nodes import For, Seq, Stmt
from ..nest import match_nest


def each_nest(stmt: Stmt, rule: Callable[[Stmt], Stmt]) -> Stmt:
    """`rule` on each maximal sub-statement that is a nest; loops around several nests stay as they are."""
    if match_nest(stmt) is not None:
        return rule(stmt)
    match stmt:
        case Seq(stmts):
            return Seq(tuple(each_nest(s, rule) for s in stmts))
        case For(_, body, _, _):
            return replace(stmt, body=each_nest(body, rule))
    return stmt
