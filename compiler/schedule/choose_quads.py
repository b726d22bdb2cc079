"""Products of four bytes by the instructions that a processor has."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from ..dtypes import I8, I32, highest, lowest
from ..ir.nodes import Binary, Const, Expr, Node, Stmt
from ..ir.rewrite import rewrite, rewrite_top_down
from ..ir.scalar_ops import ADD_SHORTS, DOTS, QUADS, SHORT_ONES, SIGNED_QUADS, UNSIGNED_QUADS, pairs_of
from ..target import Target

MOST = 2**15 - 1
"""The largest int16."""


def choose_quads(stmt: Stmt, target: Target) -> Stmt:
    """`dot_unsigned_quads` by the target's instruction for it, or by those that add fewer products: those of pairs,
    for which LLVM selects an instruction on other targets, too."""
    quads = next((op for op in target.dots if DOTS[op] in (UNSIGNED_QUADS, SIGNED_QUADS)), None)
    pairs = pairs_of(target.dots) or "dot_pairs"
    if quads is not None:
        stmt = _by(stmt, quads)
    elif target.short_dots:
        stmt = in_shorts(stmt, target.short_dots, pairs)
    return in_pairs(stmt, pairs)


def _by(stmt: Stmt, quads: str) -> Stmt:
    """By an instruction, which may take both operands for signed ones, as those of 7 bits are."""

    def rule(n: Node) -> Expr | None:
        if not isinstance(n, Binary) or n.op != QUADS or (DOTS[quads] == SIGNED_QUADS and _largest(n) is None):
            return None
        return Binary(quads, n.a, n.b)

    return rewrite(stmt, rule, {Binary})


def in_pairs(stmt: Stmt, pairs: str) -> Stmt:
    """a quads b   ->   even(a) pairs even(b) + odd(a) pairs odd(b)

    Words of the even bytes, and of the odd ones, as int16.
    """

    def rule(n: Node) -> Expr | None:
        if not isinstance(n, Binary) or n.op != QUADS:
            return None
        even, odd = n.a & 0x00FF00FF, _shr(n.a, 8) & 0x00FF00FF
        return Binary(pairs, even, _odd_bytes(_shl(n.b, 8))) + Binary(pairs, odd, _odd_bytes(n.b))

    return rewrite(stmt, rule, {Binary})


def _odd_bytes(word: Expr) -> Expr:
    """The bytes 1 and 3 as int16."""
    return (_shr(word, 8) & -0x10000) | (_shr(_shl(word, 16), 24) & 0xFFFF)


def in_shorts(stmt: Stmt, short: str, pairs: str) -> Stmt:
    """(a & 0x0f0f0f0f) quads x + (b & 0x0f0f0f0f) quads y
    ->  ((a & 0x0f0f0f0f) short_dots x) add_shorts ((b & 0x0f0f0f0f) short_dots y)) pairs 0x00010001

    where masks say that sums of products fit 16 bits, and that an operand has 7 bits.
    """

    def rule(n: Node) -> Expr | None:
        if not isinstance(n, Binary) or n.dtype != I32 or n.op not in ("+", QUADS):
            return None
        terms = list(_terms(n))
        dots = [(t, most) for t in terms if isinstance(t, Binary) and (most := _largest(t)) is not None]
        return _sum([t for t in terms if _largest(t) is None], dots, short, pairs) if dots else None

    return rewrite_top_down(stmt, rule)


def _terms(e: Expr) -> Iterator[Expr]:
    """The terms of a sum."""
    if isinstance(e, Binary) and e.op == "+":
        yield from _terms(e.a)
        yield from _terms(e.b)
    else:
        yield e


def _largest(e: Expr) -> int | None:
    """The largest magnitude of the sum of two products of a dot; None where both operands may have 8 bits."""
    match e:
        case Binary(op, Binary("and", _, Const(mask)), _) if op == QUADS:
            most = max(int(mask).to_bytes(4, "little"))
            return -2 * most * int(lowest(I8)) if most <= highest(I8) else None
    return None


def _sum(others: list[Expr], dots: list[tuple[Binary, int]], short: str, pairs: str) -> Expr:
    """The sum of all, of as many dots at a time in 16 bits as these hold."""
    parts: list[Expr] = []
    size = MOST
    for dot, most in dots:
        sums = Binary(short, dot.a, dot.b)
        if size + most > MOST:
            parts.append(sums)
            size = most
        else:
            parts[-1] = Binary(ADD_SHORTS, parts[-1], sums)
            size += most
    terms: list[Expr] = [*others, *(Binary(pairs, p, Const(SHORT_ONES)) for p in parts)]
    return functools.reduce(Expr.__add__, terms)


def _shl(word: Expr, by: int) -> Expr:
    return Binary("shl", word, Const(by))


def _shr(word: Expr, by: int) -> Expr:
    return Binary("shr", word, Const(by))
