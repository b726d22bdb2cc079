"""How many arithmetic operations a kernel makes, for reports and profiles."""

from __future__ import annotations

from ..dtypes import I32
from ..ir.forms import Contraction, Transform
from ..ir.nodes import Binary, Expr, For, If, Kernel, Load, Node, Unary
from ..ir.rewrite import children


def count_work(naive: Kernel, scheduled: Kernel) -> int:
    """Operations on floats of one launch, every function counting as one; of a product of integers those on its
    elements. Those of a transform are counted as scheduled, without the zeros of its matrices and with sums made once:
    the naive kernel has the product with both matrices for each element."""
    counted = scheduled if any(isinstance(f, Transform) for f in naive.forms) else naive
    return _count(counted.body, any(isinstance(f, Contraction) and f.sum == I32 for f in naive.forms))


def _count(n: Node, integers: bool) -> int:
    if isinstance(n, For):
        return n.var.extent * _count(n.body, integers)
    if isinstance(n, Load):
        return 0
    own = isinstance(n, Unary | Binary) and (n.dtype.is_float or (integers and n.dtype == I32))
    return own + sum(_count(c, integers) for c in children(n) if not isinstance(n, If) or not isinstance(c, Expr))
