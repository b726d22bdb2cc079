"""Words of neighbours in memory, which a kernel joins, are loaded as such."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..dtypes import I32
from ..ir.affine import affine
from ..ir.nodes import Binary, Buffer, Cast, Const, Expr, Kernel, Load, Node
from ..ir.rewrite import children, loads, rewrite_top_down
from ..ir.simplify import simplify_expr


def join_words(kernel: Kernel) -> Kernel:
    """int32(x[i, 2*k]) & 65535 | int32(x[i, 2*k + 1]) << 16   ->   x'[i, k]

    where x' is the memory of x as words of int32, if nothing else reads x and its rows are whole words. Words of four
    bytes likewise.
    """
    words = {w.node: w for w in _words(kernel.body)}
    if not words:
        return kernel
    read = Counter(x.buffer for x in loads(kernel.body))
    joined = Counter(w.buffer for w in words.values())
    apart = {w.buffer for w in words.values() if w.at is None or read[w.buffer] != joined[w.buffer] * w.group}
    memory = {w.buffer: _as_words(w) for w in words.values() if w.buffer not in apart}
    if not memory:
        return kernel

    def rule(n: Node) -> Expr | None:
        w = words.get(n) if isinstance(n, Binary) else None
        if w is None or w.at is None or w.buffer not in memory:
            return None
        return Load(memory[w.buffer], (*w.first.indices[:-1], w.at))

    params = tuple(memory.get(p, p) for p in kernel.params)
    return replace(kernel, params=params, body=rewrite_top_down(kernel.body, rule))


@dataclass(frozen=True, slots=True)
class _Word:
    """A `node` that joins `group` elements, the `first` of them in the low bits; `at` is the last index of the word in
    memory, None where they stand in different ones."""

    node: Binary
    first: Load
    group: int
    at: Expr | None

    @property
    def buffer(self) -> Buffer:
        return self.first.buffer


def _words(node: Node) -> Iterator[_Word]:
    """The words that are joined in a node, none of them inside another one."""
    word = _word(node) if isinstance(node, Binary) and node.op == "or" else None
    if word is not None:
        yield word
        return
    for n in children(node):
        yield from _words(n)


def _word(node: Binary) -> _Word | None:
    parts = list(_parts(node))
    first = _element(parts[0], 0, I32.bits)
    if first is None or first.dtype.bits * len(parts) != I32.bits or first.buffer.constant:
        return None
    elements = [_element(e, n * first.dtype.bits, first.dtype.bits) for n, e in enumerate(parts)]
    if any(e is None or e.buffer is not first.buffer for e in elements):
        return None
    return _Word(node, first, len(parts), _place(first, [e for e in elements if e is not None]))


def _parts(e: Expr) -> Iterator[Expr]:
    match e:
        case Binary("or", a, b):
            yield from _parts(a)
            yield from _parts(b)
        case _:
            yield e


def _element(e: Expr, shift: int, bits: int) -> Load | None:
    """The element that is shifted by so many bits, and has no others above its own."""
    match e:
        case Binary("shl", a, Const(by)) if by == shift:
            e = a
        case _ if shift:
            return None
    masked = False
    match e:
        case Binary("and", a, Const(mask)):
            e, masked = a, True
    match e:
        case Cast(to, Load() as load) if to == I32 and load.dtype.is_int:
            whole = (1 << load.dtype.bits) - 1
            kept = mask == whole if masked else load.dtype.kind == "uint" or shift + load.dtype.bits == I32.bits
            return load if kept and bits in (I32.bits, load.dtype.bits) else None
    return None


def _place(first: Load, elements: list[Load]) -> Expr | None:
    """The last index of the word; None where the elements are no neighbours, or stand in different words."""
    start, group = affine(first.indices[-1]), len(elements)
    follow = all(
        e.guard is None
        and e.indices[:-1] == first.indices[:-1]
        and affine(e.indices[-1]) == affine(first.indices[-1] + n)
        for n, e in enumerate(elements)
    )
    if not follow or not start.is_multiple(group) or first.buffer.shape[-1] % group:
        return None
    return simplify_expr(start.to_expr() // group)


def _as_words(w: _Word) -> Buffer:
    shape = (*w.buffer.shape[:-1], w.buffer.shape[-1] // w.group)
    return replace(w.buffer, shape=shape, dtype=I32, values=None)
