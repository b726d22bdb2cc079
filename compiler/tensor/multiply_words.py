"""Products of two operands that a run computes as sums over words: processors multiply two int16, or four bytes, and
add them in one instruction. Constants are packed in words by the schedule (`schedule/word_products`)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from math import prod

from ..dtypes import I8, I16, I32
from ..ir.affine import affine
from ..ir.contraction import find_contraction, loaded_operand
from ..ir.nodes import Binary, Const, Expr, Load, Var
from ..ir.reduction import Reduce
from ..ir.rewrite import free_vars, loads, substitute
from ..ir.scalar_ops import DOTS
from ..ir.simplify import simplify_expr
from ..ir.sizes import Size, ceiling, divides, number, size
from .program import TensorProgram
from .replace_tensors import replace_tensors
from .tensor import Tensor, axis, compute


def multiply_words(program: TensorProgram, dots: Iterable[str], rows: int) -> TensorProgram:
    """total[i, j] = sum over k < 2*n of int32(x[i, k]) * int32(y[k, j])
    ->  words[k, j] = int32(y[2*k, j]) & 65535 | int32(y[2*k + 1, j]) << 16
        total[i, j] = sum over k < n of dot(int32(x[i, 2*k]) & 65535 | int32(x[i, 2*k + 1]) << 16, words[k, j])

    for products of at least `rows` rows, by that of `dots` for elements of the type of x: two int16, or four bytes of
    which those of y are int8. Words of x are words of memory, as which `schedule/join_words` reads them. Where their
    elements are no neighbours in memory, or the last word is no whole one, also in some runs alone, words of x are
    stored, too: zeros fill the last one.
    """
    kept: dict[Hashable, Tensor] = {}

    def make(t: Tensor) -> tuple[Tensor, ...]:
        product = match_product(t, rows)
        dot = None if product is None or t.dtype != I32 else _dot_of(product, dots)
        if product is None or dot is None:
            return (t,)
        group = DOTS[dot].group
        k, by_buffer, before = product.k, {r.buffer: r for r in t.reads}, set(kept.values())
        depth = k.extent if k.length is None else size(k.length)
        word = axis(k.name, ceiling(depth, group))

        def stored(load: Load, *, last: bool) -> Expr:
            """A word of a tensor of words, whose dimension is the last one, or stands before that."""
            of, d = by_buffer[load.buffer], load.indices.index(k)
            others = [i for e, i in enumerate(load.indices) if e != d]
            at = len(others) - (not last)
            words = kept.setdefault((of, d, at, group, depth), _words(of, d, depth, at, group))
            return words.read([*others[:at], word, *others[at:]])

        along = is_along_memory(by_buffer[product.x.buffer], product.x, k, group)
        if along and divides(group, depth):
            left = _joined([substitute(product.x, {k: word * group + j}) for j in range(group)])
        else:
            left = stored(product.x, last=along)
        body = Reduce("sum", (word,), Binary(dot, left, stored(product.y, last=False)), Const(0))
        used = {x.buffer for x in loads(body)}
        reads = tuple(r for r in (*t.reads, *kept.values()) if r.buffer in used)
        return *(w for w in kept.values() if w not in before), replace(t, body=body, reads=reads)

    return replace_tensors(program, make)


@dataclass(frozen=True, slots=True)
class Product:
    """Terms of a sum over `k`: elements of x, which rows move, and of y, whose last dimension is columns."""

    x: Load
    y: Load
    k: Var


def match_product(t: Tensor, rows: int) -> Product | None:
    """The terms of the sum `t`, of at least so many rows, of operands that a run computes; None for other tensors."""
    if not isinstance(t.body, Reduce) or t.body.op != "sum" or any(r.is_constant for r in t.reads):
        return None
    contraction = find_contraction(t.axes, t.body.axes, t.body.value)
    for way in contraction.orientations if contraction is not None else ():
        x, y = loaded_operand(way.a), loaded_operand(way.b)
        if x is None or y is None or x.guard is not None or y.guard is not None or len(t.body.axes) > 1:
            continue
        k = t.body.axes[0]
        alone = all(sum(k in free_vars(i) for i in n.indices) == 1 and k in n.indices for n in (x, y))
        matrix = t.axes[-1:] and t.axes[-1] in way.columns and y.indices[-1] == t.axes[-1]
        if alone and matrix and k.extent > 2 and prod(v.extent for v in way.rows) >= rows:
            return Product(x, y, k)
    return None


def _dot_of(product: Product, dots: Iterable[str]) -> str | None:
    """The operation whose elements those of the product are, or are widened to."""
    x, y = product.x.dtype, product.y.dtype
    fits = [op for op in dots if DOTS[op].a == x and (y == I8 or y == x == I16) and DOTS[op].most is None]
    return next((op for op in fits if product.k.extent > DOTS[op].group), None)


def is_along_memory(t: Tensor, x: Load, k: Var, group: int) -> bool:
    """Whether elements for neighbours of `k`, from a multiple of `group` on, are neighbours in memory, also where `t`
    is moved from another tensor."""
    indices = x.indices
    while isinstance(t.body, Load) and t.body.guard is None:
        load, places = t.body, dict(zip(t.axes, indices, strict=True))
        indices = tuple(substitute(i, places) for i in load.indices)
        t = next(r for r in t.reads if r.buffer is load.buffer)
    *others, last = map(simplify_expr, indices)
    index = affine(last)
    rest = index.without(k)
    apart = all(k not in free_vars(e) for e in (*others, rest.to_expr()))
    return apart and index.coefficient(k) == 1 and (k.extent % group > 0 or rest.is_multiple(group))


def _words(of: Tensor, d: int, depth: Size, at: int, group: int) -> Tensor:
    """Words of the first `depth` elements along the dimension `d` of a tensor, which is the dimension `at` of words.
    Zeros fill the last one."""
    some = 1 if isinstance(depth, Expr) else depth % group
    whole = divides(group, depth)
    shape = [n for e, n in enumerate(of.shape) if e != d]

    def element(others: list[Expr], k: Expr, j: int) -> Expr:
        place = k + j if j else k
        return of.read([*others[:d], place, *others[d:]], None if whole or j < some else place < number(depth))

    def word(*i: Expr) -> Expr:
        others = [*i[:at], *i[at + 1 :]]
        return _joined([element(others, i[at] * group, j) for j in range(group)])

    return compute(f"{of.name}.words{d}", [*shape[:at], ceiling(depth, group), *shape[at:]], (of,), word)


def _joined(elements: list[Expr]) -> Expr:
    """The word of so many elements, the first of them in its low bits."""
    bits = I32.bits // len(elements)
    *low, last = (e.cast(I32) for e in elements)
    word: Expr | None = None
    for n, e in enumerate(low):
        part = Binary("shl", e & ((1 << bits) - 1), Const(n * bits)) if n else e & ((1 << bits) - 1)
        word = part if word is None else word | part
    assert word is not None
    return word | Binary("shl", last, Const(I32.bits - bits))
