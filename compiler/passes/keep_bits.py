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
    """float32((x >> 4) & 15)   ->   float32(x & 240) * 2**-4: exact, of bits that float32 holds"""

    def rule(n: Node) -> Expr | None:
        match n:
            case Cast(to, Binary("and", Binary("shr", x, shift), mask)) if to == F32 and x.dtype == I32:
                first, bits = _constant(shift), _constant(mask)
                if first is None or bits is None or bits < 0 or bits << first >= LARGEST:
                    return None
                kept = Cast(F32, Binary("and", x, _like(x, Const(bits << first))))
                return kept * _like(x, Const(2.0**-first, F32)) if first else kept
        return None

    body = rewrite(kernel.body, rule, {Cast})
    return kernel if body is kernel.body else replace(kernel, body=body)


def _constant(e: Expr) -> int | None:
    match e:
        case Splat(Const(int(value))) | Const(int(value)):
            return value
    return None


def _like(x: Expr, constant: Const) -> Expr:
    lanes = lanes_of(x)
    return Splat(constant, lanes) if lanes > 1 else constant
