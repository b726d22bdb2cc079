"""Elements of few bits in bytes."""

from __future__ import annotations

from ...dtypes import I32
from ...ir.nodes import Expr, binary, expr


def part_of(byte: Expr, place: Expr, bits: int, *, high_first: bool = False) -> Expr:
    """Element number `place` of a row of elements of `bits`, which is in `byte`, as an int32 without sign. The first of
    a byte is in its lowest bits, or the highest."""
    word = byte.cast(I32)
    if bits == 8:
        return word
    per_byte = 8 // bits
    shift = (place % per_byte) * bits
    amount = expr(8 - bits, I32) - shift if high_first else shift
    return binary("shr", word, amount) & ((1 << bits) - 1)
