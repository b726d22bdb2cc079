"""Words of two neighbours in memory, which a kernel joins, are loaded as such."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from ..dtypes import I16, I32
from ..ir.affine import affine
from ..ir.nodes import Binary, Buffer, Cast, Const, Expr, Kernel, Load, Node
from ..ir.rewrite import loads, rewrite_top_down, walk
from ..ir.simplify import simplify_expr


def join_pairs(kernel: Kernel) -> Kernel:
    """int32(x[i, 2*k]) & 65535 | int32(x[i, 2*k + 1]) << 16   ->   x'[i, k]

    where x' is the memory of x as words of int32, if nothing else reads x and its rows are whole words.
    """
    pairs = {n: pair for n in walk(kernel.body) if (pair := _pair(n)) is not None}
    read = Counter(x.buffer for x in loads(kernel.body))
    joined = Counter(low.buffer for low, _ in pairs.values())
    at = {n: _word_of(low, high) for n, (low, high) in pairs.items()}
    apart = {low.buffer for n, (low, _) in pairs.items() if at[n] is None}
    words = {b: _as_words(b) for b, n in joined.items() if b not in apart and read[b] == 2 * n}
    if not words:
        return kernel

    def rule(n: Node) -> Expr | None:
        if n not in pairs or pairs[n][0].buffer not in words:
            return None
        place, (low, _) = at[n], pairs[n]
        assert place is not None
        return Load(words[low.buffer], (*low.indices[:-1], place))

    params = tuple(words.get(p, p) for p in kernel.params)
    return replace(kernel, params=params, body=rewrite_top_down(kernel.body, rule))


def _pair(n: Node) -> tuple[Load, Load] | None:
    """The elements in the low and the high half of a word."""
    match n:
        case Binary("or", Binary("and", Cast(to, Load() as low), Const(0xFFFF)), Binary("shl", high, Const(16))):
            match high:
                case Cast(_, Load() as upper) if low.dtype == upper.dtype == I16 and to == I32:
                    return (low, upper) if low.buffer is upper.buffer and not low.buffer.constant else None
    return None


def _word_of(low: Load, high: Load) -> Expr | None:
    """The last index of the word; None where the elements are no neighbours, or stand in different words."""
    first = affine(low.indices[-1])
    same = low.indices[:-1] == high.indices[:-1] and low.guard is None and high.guard is None
    follows = affine(high.indices[-1]) == affine(low.indices[-1] + 1)
    if not (same and follows and first.is_multiple(2) and low.buffer.shape[-1] % 2 == 0):
        return None
    return simplify_expr(first.to_expr() // 2)


def _as_words(b: Buffer) -> Buffer:
    return replace(b, shape=(*b.shape[:-1], b.shape[-1] // 2), dtype=I32, values=None)
