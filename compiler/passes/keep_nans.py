"""NaN as the first operand of max and min, for targets whose compilers assume that there is none."""

from __future__ import annotations

from dataclasses import replace
from math import isnan

from ..dtypes import F32, U32
from ..ir.lanes import Splat, lanes_of
from ..ir.nodes import Binary, Cast, Const, Expr, Kernel, Load, Node, Select, Stmt, Store
from ..ir.rewrite import rewrite, rewrite_statements
from .legalise_floats import is_nan
from .math_functions import Num


def clear_negatives(kernel: Kernel) -> Kernel:
    """max(x, 0)   ->   select(bits of x + 0x7fffffff < 0x7f800000, 0, x)

    The bits of numbers below zero are 0x80000001 to 0xff800000, and from 0 on after this addition modulo 2**32: one
    comparison in place of two. A NaN stays.
    """

    def rule(n: object) -> Expr | None:
        match n:
            case Binary("max", a, Const(0) | Splat(Const(0), _) as zero) if a.dtype == F32:
                bits = Num(a, lanes_of(a)).bits(U32)
                return Select(((bits + 0x7FFFFFFF) < 0x7F800000).e, zero, a)
        return None

    body = rewrite(kernel.body, rule, {Binary})
    return kernel if body is kernel.body else replace(kernel, body=body)


def keep_nans(kernel: Kernel) -> Kernel:
    """y = max(x, 0)   ->   y = select(x is NaN, x, max(x, 0))

    By the bits of x: drivers turn a selection by a comparison into their maximum, which returns the other operand. What
    cannot be NaN stays as it is: the accumulator of a reduction starts as a number, and so does a range that quanta are
    clamped to.
    """

    def extreme(n: Node) -> Expr | None:
        match n:
            case Binary("max" | "min", a, _) if a.dtype == F32 and not _is_number(a):
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


def _is_number(e: Expr) -> bool:
    """Whether a float cannot be NaN: a maximum or minimum is only where its first operand is."""
    while isinstance(e, Binary) and e.op in ("max", "min"):
        e = e.a
    match e:
        case Const(value) | Splat(Const(value), _):
            return not isnan(value)
        case Cast(_, a):
            return not a.dtype.is_float
    return False
