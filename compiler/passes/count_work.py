"""How many arithmetic operations a kernel makes, for reports and profiles."""

from __future__ import annotations

from ..ir.nodes import Binary, Expr, For, If, Kernel, Load, Node, Unary
from ..ir.rewrite import children


def count_work(kernel: Kernel) -> int:
    """Operations on floats of one launch of a naive kernel, every function counting as one."""
    return _count(kernel.body)


def _count(n: Node) -> int:
    if isinstance(n, For):
        return n.var.extent * _count(n.body)
    if isinstance(n, Load):
        return 0
    own = isinstance(n, Unary | Binary) and n.dtype.is_float
    return own + sum(_count(c) for c in children(n) if not isinstance(n, If) or not isinstance(c, Expr))
