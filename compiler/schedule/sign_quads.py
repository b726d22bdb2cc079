"""Products of four bytes by the instruction that takes both operands as signed: that of GPUs."""

from __future__ import annotations

from ..dtypes import I8, highest
from ..ir.nodes import Binary, Const, Expr, Node, Stmt
from ..ir.rewrite import rewrite
from ..ir.scalar_ops import QUADS, SIGNED

HIGHEST_BITS = -0x7F7F7F80
"""0x80 in each byte of a word."""

ONES = 0x01010101


def sign_quads(stmt: Stmt) -> Stmt:
    """a unsigned_quads b   ->   (a ^ 0x80808080) signed_quads b + (0x01010101 signed_quads b << 7)

    which are the products of a - 128, and 128 times the elements of b; a mask says where a has 7 bits, which are the
    same signed.
    """

    def rule(n: Node) -> Expr | None:
        match n:
            case Binary(op, a, b) if op == QUADS:
                if _is_positive(a):
                    return Binary(SIGNED, a, b)
                sums = Binary(SIGNED, Const(ONES), b)
                return Binary(SIGNED, a ^ HIGHEST_BITS, b) + Binary("shl", sums, Const(7))
        return None

    return rewrite(stmt, rule, {Binary})


def _is_positive(word: Expr) -> bool:
    """Whether each byte has its highest bit clear."""
    match word:
        case Binary("and", _, Const(mask)):
            return max((int(mask) & 0xFFFFFFFF).to_bytes(4, "little")) <= highest(I8)
    return False
