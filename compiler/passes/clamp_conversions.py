"""Conversions of vectors of floats to few bits: by int32, of what was clamped before."""

from __future__ import annotations

from dataclasses import replace

from ..dtypes import F32, I32, DType
from ..ir.intervals import ROUNDING
from ..ir.lanes import Splat, lanes_of
from ..ir.nodes import Binary, Cast, Const, Expr, Kernel, Node, Select, Unary
from ..ir.rewrite import rewrite
from .expand_extremes import extreme_of
from .math_functions import LARGEST_ROUNDED, Num, is_whole, nearest

EXACT = 1 << 24
"""Bounds up to this are float32, too."""


def clamp_conversions(kernel: Kernel) -> Kernel:
    """uint8(x)                       ->   uint8(int32(min(max(0, x), 255)))
    min(max(int32(x), -128), 127)  ->   int32(min(max(-128, select(x != x, 0, x)), 127))          (vectors of float32)

    LLVM has no vector instruction for the first, and on x86 for no conversion that saturates; with such an operand
    none needs to (`is_clamped`). The operands' order makes a NaN the lower bound.
    """

    def rule(n: Node) -> Expr | None:
        match n:
            case Cast(to, a) if to.is_int and to.bits < I32.bits and a.dtype == F32 and lanes_of(a) > 1:
                low, high = _limits(to)
                return Cast(to, _to_int32(a) if is_clamped(a, low, high) else _clamped(a, low, high))
            case Binary("min", Binary("max", Cast(to, a), Splat(Const(low))), Splat(Const(high))):
                if to == I32 and a.dtype == F32 and -EXACT <= low <= high <= EXACT:
                    return _clamped(a, int(low), int(high))
        return None

    body = rewrite(kernel.body, rule, {Cast, Binary})
    return kernel if body is kernel.body else replace(kernel, body=body)


def is_clamped(a: Expr, least: int = -(1 << 31), most: int = (1 << 31) - 1) -> bool:
    """Whether `a`, of float32, is within these bounds, by default those of int32, and no element is a NaN."""
    match a:
        case Unary(op, x) if op in ROUNDING:
            return is_clamped(x, least, most)
    match extreme_of(a):
        case "min", inner, Const(high) | Splat(Const(high)):
            match extreme_of(inner):
                case "max", Const(low) | Splat(Const(low)), _:
                    return least <= low <= high <= most
    return False


def _to_int32(a: Expr) -> Expr:
    """The int32 of a clamped vector; of whole numbers of few bits, which need not be rounded before, by an addition."""
    match a:
        case Binary("min", Binary("max", Splat(Const(low)) as least, x), Splat(Const(high)) as most):
            if -LARGEST_ROUNDED <= low <= high <= LARGEST_ROUNDED and is_whole(x):
                if isinstance(x, Unary):
                    a = Binary("min", Binary("max", least, x.a), most)
                return nearest(Num(a, lanes_of(a))).e
    return Cast(I32, a)


def _limits(to: DType) -> tuple[int, int]:
    if to.kind == "int":
        return -(1 << (to.bits - 1)), (1 << (to.bits - 1)) - 1
    return 0, (1 << to.bits) - 1


def _clamped(a: Expr, low: int, high: int) -> Expr:
    """The nearest int32 to `a` within the bounds, which for a NaN is the one nearest to 0."""
    lanes = lanes_of(a)

    def like(value: int) -> Expr:
        return Splat(Const(float(value), F32), lanes)

    if low < 0:
        a = Select(Binary("!=", a, a), like(min(high, 0)), a)
    return _to_int32(Binary("min", Binary("max", like(low), a), like(high)))
