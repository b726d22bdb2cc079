"""How many arithmetic operations a kernel makes, for reports and profiles."""

from __future__ import annotations

from ..dtypes import I32
from ..ir.forms import Contraction
from ..ir.nodes import Binary, Expr, For, If, Kernel, Load, Node, Unary
from ..ir.rewrite import children


def count_work(kernel: Kernel) -> int:
    """Operations on floats of one launch of a naive kernel, every function counting as one; of a product of integers
    those on its elements."""
    return _count(kernel.body, any(isinstance(f, Contraction) and f.sum == I32 for f in kernel.forms))


def _count(n: Node, integers: bool) -> int:
    if isinstance(n, For):
        return n.var.extent * _count(n.body, integers)
    if isinstance(n, Load):
        return 0
    own = isinstance(n, Unary | Binary) and (n.dtype.is_float or (integers and n.dtype == I32))
    return own + sum(_count(c, integers) for c in children(n) if not isinstance(n, If) or not isinstance(c, Expr))
