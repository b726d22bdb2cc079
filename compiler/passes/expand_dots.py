"""Products of words in the operations that all languages have."""

from __future__ import annotations

from dataclasses import replace

from ..dtypes import I16, I32
from ..ir.lanes import Splat, lanes_of
from ..ir.nodes import Binary, Cast, Const, Expr, Kernel, Node
from ..ir.rewrite import rewrite
from ..ir.scalar_ops import DOTS, PAIRS, UNSIGNED_QUADS


def expand_dots(kernel: Kernel) -> Kernel:
    """a dot_pairs b   ->   (a << 16 >> 16) * (b << 16 >> 16) + (a >> 16) * (b >> 16)

    Words b of two int8 become int32 before; their halves are 8 bits. Four bytes likewise, those of a unsigned.
    """

    def rule(n: Node) -> Expr | None:
        match n:
            case Binary(op, a, b) if DOTS.get(op) == UNSIGNED_QUADS:
                total = _byte(a, 0) * _low(b, 8)
                for at in range(8, I32.bits, 8):
                    total = total + _byte(a, at) * _low(_shifted("shr", b, at), 8)
                return total
            case Binary(op, a, b) if DOTS.get(op) == PAIRS:
                wide, bits = (Cast(I32, b), 8) if b.dtype == I16 else (b, 16)
                return _low(a, 16) * _low(wide, bits) + _shifted("shr", a, 16) * _shifted("shr", wide, bits)
        return None

    body = rewrite(kernel.body, rule, {Binary})
    return kernel if body is kernel.body else replace(kernel, body=body)


def _low(word: Expr, bits: int) -> Expr:
    """The number in so many low bits."""
    return _shifted("shr", _shifted("shl", word, I32.bits - bits), I32.bits - bits)


def _byte(word: Expr, at: int) -> Expr:
    """The unsigned byte from bit `at` on."""
    return _by_constant("and", _shifted("shr", word, at), 255)


def _shifted(op: str, word: Expr, by: int) -> Expr:
    return _by_constant(op, word, by) if by else word


def _by_constant(op: str, word: Expr, value: int) -> Expr:
    """The operation with a constant, on a scalar where a word is the same in all lanes."""
    if isinstance(word, Splat):
        return Splat(_by_constant(op, word.a, value), word.lanes)
    lanes = lanes_of(word)
    return Binary(op, word, Splat(Const(value), lanes) if lanes > 1 else Const(value))
