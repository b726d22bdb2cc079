"""Quanta are rounded by an addition: for devices, some of which round by a dozen operations or a call for each lane."""

from __future__ import annotations

from dataclasses import replace

from ..dtypes import F32, I32
from ..ir.lanes import Splat, lanes_of
from ..ir.nodes import Binary, Cast, Const, Expr, Kernel, Node, Unary
from ..ir.rewrite import rewrite
from .legalise_floats import is_nan
from .math_functions import LARGEST_ROUNDED, ROUNDER, Num, is_whole, nearest


def round_clamped(kernel: Kernel) -> Kernel:
    """min(max(low, round(x)), high)   ->   min(max(low, x), high) + 1.5 * 2**23 - 1.5 * 2**23
    min(max(int32(round(x) + z), low), high)   ->   the low bits of min(max(low, round(x) + z), high) + 1.5 * 2**23

    for bounds that are whole numbers, up to 2**22: the sum has no room for a fraction, and halves become even. Of a NaN
    the integer is still 0, or the nearest bound.
    """

    def rule(n: Node) -> Expr | None:
        match n:
            case Binary("min", Binary("max", least, Unary("round", x)), most) if x.dtype == F32:
                if _is_bound(least) and _is_bound(most):
                    clamped = Num(Binary("min", Binary("max", least, x), most), lanes_of(x))
                    return (clamped + ROUNDER - ROUNDER).e
            case Binary("min", Binary("max", Cast(to, a), least), most) if to == I32 and a.dtype == F32 and is_whole(a):
                if _is_bound(least) and _is_bound(most):
                    return _quantum(a, least, most)
        return None

    body = rewrite(kernel.body, rule, {Binary})
    return kernel if body is kernel.body else replace(kernel, body=body)


def _quantum(a: Expr, least: Expr, most: Expr) -> Expr:
    x = Num(a, lanes_of(a))
    low, high = (int(_constant(e).value) for e in (least, most))
    raised = Binary("max", x.of(float(low)).e, a.a if isinstance(a, Unary) else a)
    whole = nearest(Num(raised, x.lanes).at_most(float(high)))
    return is_nan(x).where(min(max(0, low), high), whole, whole).e


def _constant(e: Expr) -> Const:
    constant = e.a if isinstance(e, Splat) else e
    assert isinstance(constant, Const)
    return constant


def _is_bound(e: Expr) -> bool:
    match e:
        case Const(value) | Splat(Const(value), _):
            return abs(value) <= LARGEST_ROUNDED and value == int(value)
    return False
