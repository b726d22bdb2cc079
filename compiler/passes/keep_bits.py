"""Bits that become float32 stay in their place: a product takes less time than a shift of each lane by itself."""

from __future__ import annotations

from dataclasses import replace

from ..dtypes import F32, I32
from ..ir.lanes import Splat, lanes_of
from ..ir.nodes import Binary, Cast, Const, Expr, Kernel, Node
from ..ir.rewrite import rewrite

LARGEST = 1 << 24
"""Below this float32 holds every whole number."""


def keep_bits(kernel: Kernel) -> Kernel:
    """float32((x >> 4) & 15)   ->   float32(x & 240) * 2**-4, which is exact of bits that float32 holds; likewise of
    ((x >> 4) & 15) ^ 8"""

    def rule(n: Node) -> Expr | None:
        match n:
            case Cast(to, Binary("xor", value, flip)) if to == F32:
                return _kept(value, _constant(flip))
            case Cast(to, value) if to == F32:
                return _kept(value, 0)
        return None

    body = rewrite(kernel.body, rule, {Cast})
    return kernel if body is kernel.body else replace(kernel, body=body)


def _kept(value: Expr, inverted: int | None) -> Expr | None:
    """float32(value ^ inverted), of a value that is shifted bits."""
    match value:
        case Binary("and", Binary("shr", x, shift), mask) if x.dtype == I32:
            first, bits = _constant(shift), _constant(mask)
            if first is None or bits is None or inverted is None or min(bits, inverted) < 0:
                return None
            if max(bits, inverted) << first >= LARGEST:
                return None
            kept: Expr = Binary("and", x, _like(x, Const(bits << first)))
            kept = Binary("xor", kept, _like(x, Const(inverted << first))) if inverted else kept
            return Cast(F32, kept) * _like(x, Const(2.0**-first, F32)) if first else Cast(F32, kept)
    return None


def _constant(e: Expr) -> int | None:
    match e:
        case Splat(Const(int(value))) | Const(int(value)):
            return value
    return None


def _like(x: Expr, constant: Const) -> Expr:
    lanes = lanes_of(x)
    return Splat(constant, lanes) if lanes > 1 else constant
