"""Common subexpression elimination: equal expressions become one node, which the printer names once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ..ir.lanes import Extract, Ramp, Splat
from ..ir.nodes import Binary, Bitcast, Cast, Const, Expr, Load, Node, Select, Stmt, Unary
from ..ir.rewrite import children, rewrite

N = TypeVar("N", Expr, Stmt)
Label = Callable[[Any], tuple[Any, ...]]


def merge_equal(node: N) -> N:
    """f(x + 1, x + 1)   ->   f(e, e), with one node e; the meaning stays."""
    nodes: dict[tuple[Any, ...], Expr] = {}

    def rule(n: Node) -> Expr:
        assert isinstance(n, Expr)
        return nodes.setdefault((type(n), *LABELS[type(n)](n), *map(id, children(n))), n)

    return rewrite(node, rule, LABELS)


def _operator(n: Any) -> tuple[Any, ...]:
    return (n.op,)


def _type(n: Any) -> tuple[Any, ...]:
    return (n.type,)


def _lanes(n: Any) -> tuple[Any, ...]:
    return (n.lanes,)


LABELS: dict[type, Label] = {
    Const: lambda n: (n.type, type(n.value), repr(n.value)),
    Unary: _operator,
    Binary: _operator,
    Cast: _type,
    Bitcast: _type,
    Select: lambda n: (),
    Load: lambda n: (n.buffer, n.guard is None),
    Ramp: _lanes,
    Splat: _lanes,
    Extract: lambda n: (n.lane,),
}
"""Fields that distinguish expressions of one kind over the same operands. Kinds that are not here are not merged."""
