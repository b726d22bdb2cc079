"""Applies a rule to every nest of a statement that earlier steps have cut into several."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...choices import Choices, part_of
from ...ir.nest import Nest, match_nest
from ...ir.nodes import For, Seq, Stmt


def each_nest(stmt: Stmt, rule: Callable[[Stmt, Nest, Choices], Stmt], choices: Choices) -> Stmt:
    """`rule` applied to each maximal sub-statement that is a nest; loops around several nests are kept."""
    nest = match_nest(stmt)
    if nest is not None:
        return rule(stmt, nest, choices)
    match stmt:
        case Seq(stmts):
            parts = (each_nest(s, rule, part_of(choices, i, stmts)) for i, s in enumerate(stmts))
            return Seq(tuple(parts))
        case For(_, body, _, _):
            return replace(stmt, body=each_nest(body, rule, choices))
    return stmt
