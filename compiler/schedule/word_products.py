"""Contractions of integers as sums over words: processors multiply two int16, or four bytes, and add the products, in
one instruction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import prod

from ..dtypes import I16, I32, DType
from ..ir.affine import affine
from ..ir.contraction import loaded_operand
from ..ir.facts import range_of
from ..ir.forms import Contraction
from ..ir.layout import Block, Layout
from ..ir.nest import Reduction, match_nest, match_reduction
from ..ir.nodes import Binary, Buffer, Const, Expr, For, Kernel, Load, Node, Seq, Stmt, Store, Var
from ..ir.rewrite import free_vars, loads, rewrite_statements, rewrite_top_down
from ..ir.scalar_ops import DOTS
from ..ir.simplify import simplify_expr
from .rules.roles import find_roles, order_reduction
from .split_groups import split_groups


@dataclass(frozen=True, slots=True)
class Worded:
    """`kernel` sums over words. `constant` is the parameter whose words hold `group` neighbours along the dimension
    `axis`, of so many elements."""

    kernel: Kernel
    constant: Buffer
    axis: int
    elements: int
    group: int

    def in_elements(self, words: Buffer) -> Buffer:
        """The constant, in the layout that a schedule chose for its words, with the layout of the elements."""
        assert words.layout is not None
        align = words.layout.align[self.axis] * self.group
        layout = _with_extent(words.layout, self.axis, self.elements, align)
        blocks = (*layout.blocks, Block(self.axis, self.group, self.group))
        return replace(words, layout=replace(layout, blocks=blocks))


def word_products(kernel: Kernel, dots: Iterable[str]) -> Worded | None:
    """for k < 2*n reduce: acc = acc + int32(x[i, k]) * int32(w[k, j])
    ->  for k < n reduce: acc = acc + dot_pairs(x'[i, k], w'[k, j])

    by that of the operations `dots` which takes elements of the type of x. None where there is none, where the kernel
    does more than multiply x by a constant w of signed integers, and where elements of a word are no neighbours in x.
    Those of w are: it is packed so when the model is built or loaded.
    """
    kernel = _merge_rows(kernel)
    parts = kernel.body.stmts if isinstance(kernel.body, Seq) else (kernel.body,)
    reading = [s for s in parts if any(True for _ in loads(s))]
    if len(reading) != 1 or not any(isinstance(f, Contraction) and f.sum == I32 for f in kernel.forms):
        return None
    nest = match_nest(reading[0])
    if not isinstance(nest, Reduction):
        return None
    stmt = split_groups(reading[0], nest)
    nest = match_reduction(stmt)
    roles = find_roles(nest)
    x = None if roles is None else loaded_operand(roles.a)
    if roles is None or x is None or not roles.b.buffer.constant:
        return None
    op = next((op for op in dots if DOTS[op].a == x.dtype and roles.b.dtype in DOTS[op].words), None)
    read_once = all(sum(n.buffer is b for n in loads(stmt)) == 1 for b in (x.buffer, roles.b.buffer))
    k = order_reduction(nest, roles.a)[-1]
    at = next((d for d, i in enumerate(roles.b.indices) if i is k), None)
    layout = roles.b.buffer.layout
    if op is None or at is None or layout is None or layout.blocks or not read_once:
        return None
    group, words = DOTS[op].group, DOTS[op].words
    axis, count = layout.order[at], -(-k.extent // group)
    words_over = count > 1 or any(v.extent > 1 for v in nest.over if v is not k)
    if k.length is not None or layout.extent(axis) != k.extent or any(layout.pad[axis]) or not words_over:
        return None
    word = Var(k.name, count) if count > 1 else Const(0)
    last = len(x.indices) - 1
    if x.buffer.shape[last] % group or not _has_room(x.indices[last], k, group, x.buffer.shape[last]):
        return None
    left = _word(x, k, word, group, last, I32, x.buffer.layout)
    right = _word(roles.b, k, word, group, at, words[roles.b.dtype], _with_extent(layout, axis, count, 1))
    if left is None or right is None:
        return None
    summed = _summed(stmt, nest, k, word, Binary(op, left, right))
    buffers = {x.buffer: left.buffer, roles.b.buffer: right.buffer}
    body = Seq(tuple(summed if s is reading[0] else s for s in parts)) if len(parts) > 1 else summed
    params = tuple(buffers.get(p, p) for p in kernel.params)
    return Worded(replace(kernel, params=params, body=body), right.buffer, axis, k.extent, group)


def _merge_rows(kernel: Kernel) -> Kernel:
    """x[i + k // 3, k % 3]   ->   x[3 * i + k]

    for operands of products whose last dimension has three elements: the two last dimensions of memory are one.
    """
    sites: dict[Load, Expr | None] = {x: _row_index(x) for x in loads(kernel.body) if x.dtype == I16}
    apart = {x.buffer for x, at in sites.items() if at is None}
    shapes = {x.buffer: (*x.buffer.shape[:-2], prod(x.buffer.shape[-2:])) for x in sites if x.buffer not in apart}
    if not shapes:
        return kernel
    merged = {b: replace(b, shape=shape) for b, shape in shapes.items()}

    def rule(n: Node) -> Expr | None:
        if not isinstance(n, Load) or n.buffer not in merged:
            return None
        at = sites[n]
        assert at is not None
        return Load(merged[n.buffer], (*n.indices[:-2], at), n.guard)

    params = tuple(merged.get(p, p) for p in kernel.params)
    return replace(kernel, params=params, body=rewrite_top_down(kernel.body, rule))


def _row_index(x: Load) -> Expr | None:
    """The index of the element in a row of memory; None where it is no sum of multiples of variables."""
    match x.indices[-2:]:
        case [column, Binary("%", Var() as k, Const(int(channels)))] if channels == x.buffer.shape[-1]:
            at, quotient = affine(column), k // channels
            if at.coefficient(quotient) == 1:
                return simplify_expr(at.without(quotient).to_expr() * channels + k)
    return None


def _summed(stmt: Stmt, nest: Reduction, k: Var, word: Expr, value: Expr) -> Stmt:
    """The nest with the sum of `value` over words, without a loop where there is one."""

    def rule(n: Node) -> Stmt | None:
        match n:
            case For(v, body, kind, parallel) if v is k:
                return For(word, body, kind, parallel) if isinstance(word, Var) else body
            case Store(buffer, indices, Binary(plus, total, _)) if n == nest.update:
                return Store(buffer, indices, Binary(plus, total, value))
        return None

    return rewrite_statements(stmt, rule)


def _with_extent(layout: Layout, axis: int, extent: int, align: int) -> Layout:
    """The layout with another extent of a dimension."""

    def changed(values: tuple[int, ...], n: int) -> tuple[int, ...]:
        return (*values[:axis], n, *values[axis + 1 :])

    return replace(layout, shape=changed(layout.shape, extent), align=changed(layout.align, align))


def _has_room(index: Expr, k: Var, group: int, extent: int) -> bool:
    """Whether the last word is inside memory."""
    most = range_of(affine(index).without(k).to_expr())
    return k.extent % group == 0 or (most is not None and most[1] + -(-k.extent // group) * group <= extent)


def _word(x: Load, k: Var, word: Expr, group: int, axis: int, dtype: DType, layout: Layout | None) -> Load | None:
    """The word that has the element for `k`, a multiple of `group`. None where the next element is in another one."""
    index = affine(x.indices[axis])
    rest = index.without(k)
    others = (*x.indices[:axis], *x.indices[axis + 1 :], rest.to_expr(), *([] if x.guard is None else [x.guard]))
    if index.coefficient(k) != 1 or not rest.is_multiple(group) or any(k in free_vars(e) for e in others):
        return None
    shape = tuple(-(-n // group) if d == axis else n for d, n in enumerate(x.buffer.shape))
    buffer = Buffer(x.buffer.name, shape, dtype, constant=x.buffer.constant, layout=layout)
    at = simplify_expr(rest.to_expr() // group + word)
    return Load(buffer, (*x.indices[:axis], at, *x.indices[axis + 1 :]), x.guard)
