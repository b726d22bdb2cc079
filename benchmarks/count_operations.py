"""How many operations on floats a lowered kernel makes, in each lane."""

from __future__ import annotations

from webnn_compile.ir.lanes import lanes_of
from webnn_compile.ir.nodes import Binary, Expr, For, Kernel, Node, Store, Unary
from webnn_compile.ir.rewrite import children, walk


def count_operations(kernel: Kernel) -> int:
    """The operations of one launch. A multiplication and an addition are two, also where one instruction does both."""
    return _count(kernel.body)


def _count(n: Node) -> int:
    match n:
        case For(var, body, _, _):
            return var.extent * _count(body)
        case Store(_, _, value):
            # What a statement uses twice is computed once.
            return sum(_made(e) for e in walk(value))
        case Expr():
            return 0
    return sum(_count(c) for c in children(n))


def _made(e: Node) -> int:
    return lanes_of(e) if isinstance(e, Unary | Binary) and e.a.dtype.is_float else 0
