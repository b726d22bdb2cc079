"""NaN as the first operand of max and min, for targets whose compilers assume that there is none."""

from __future__ import annotations

from dataclasses import replace

from ..dtypes import F32
from ..ir.lanes import lanes_of
from ..ir.nodes import Binary, Expr, Kernel, Load, Node, Select, Stmt, Store
from ..ir.rewrite import rewrite, rewrite_statements
from .legalise_floats import is_nan
from .math_functions import Num


def keep_nans(kernel: Kernel) -> Kernel:
    """y = max(x, 0)   ->   y = select(x is NaN, x, max(x, 0))

    By the bits of x: drivers turn a selection by a comparison into their maximum, which returns the other operand. The
    accumulator of a reduction starts as a number, and stays one.
    """

    def extreme(n: Node) -> Expr | None:
        match n:
            case Binary("max" | "min", a, _) if a.dtype == F32:
                return Select(is_nan(Num(a, lanes_of(a))).e, a, n)
        return None

    def rule(n: Node) -> Stmt | None:
        match n:
            case Store(buffer, indices, Binary("max" | "min" as op, Load(read) as acc, value)) if read is buffer:
                return Store(buffer, indices, Binary(op, acc, rewrite(value, extreme, {Binary})))
            case Store(buffer, indices, value):
                return Store(buffer, indices, rewrite(value, extreme, {Binary}))
        return None

    body = rewrite_statements(kernel.body, rule)
    return kernel if body is kernel.body else replace(kernel, body=body)
