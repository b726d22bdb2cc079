"""Common subexpression elimination: equal expressions become one node, which the printer names once."""

from __future__ import annotations

from typing import Any, TypeVar

from ..ir.lanes import Extract, Ramp, Splat
from ..ir.nodes import Binary, Bitcast, Cast, Const, Expr, Load, Node, Select, Stmt, Unary
from ..ir.rewrite import children, rewrite

N = TypeVar("N", Expr, Stmt)


def merge_equal(node: N) -> N:
    """f(x + 1, x + 1)   ->   f(e, e), with one node e; the meaning stays."""
    known: dict[tuple[Any, ...], Expr] = {}

    def rule(n: Node) -> Expr | None:
        label = _label(n)
        if label is None or not isinstance(n, Expr):
            return None
        return known.setdefault((type(n), label, tuple(id(c) for c in children(n))), n)

    return rewrite(node, rule)


def _label(n: Node) -> Any:
    """A label that distinguishes expressions of one kind over the same operands; None for those that are not merged."""
    match n:
        case Const(value, dtype):
            return dtype, type(value), repr(value)
        case Unary(op, _) | Binary(op, _, _):
            return (op,)
        case Cast(dtype, _) | Bitcast(dtype, _):
            return (dtype,)
        case Select():
            return ()
        case Load(buffer, _, guard):
            return buffer, guard is None
        case Ramp(_, number) | Splat(_, number) | Extract(_, number):
            return (number,)
    return None
