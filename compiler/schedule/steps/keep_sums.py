"""keep_sums: the sums of all columns stay in memory while blocks of the rows of B pass."""

from __future__ import annotations

from dataclasses import replace

from ...ir.nest import Reduction, match_nest
from ...ir.nodes import Alloc, Binary, Buffer, Expr, For, Load, Scope, Seq, Stmt, Store, Var
from ...ir.reduction import neutral
from ...ir.rewrite import replace_buffers, rewrite
from .loops import illegal, on_loops
from .split import split, tiles_of


def keep_sums(stmt: Stmt, column: Var, over: Var, size: int) -> tuple[Stmt, Var]:
    """for j < 8: local acc; acc = s; for k < 10: acc = acc + v; y[j] = f(acc)
    ->  local sums[8]; for j: sums[j] = s
        for ko < 2: for j: local acc; acc = 0; for ki < 4: acc = acc + v; sums[j] = sums[j] + acc
        for ko < 1: for j: local acc; acc = 0; for ki < 2: acc = acc + v; sums[j] = sums[j] + acc
        for j: y[j] = f(sums[j])

    The loop over `column`, which must not be dynamic, is around a reduction over `over` alone. Returns the variable of
    the loop over `size` iterations, too. Sums are reassociated.
    """
    inside: list[Var] = []

    def change(loop: For) -> Stmt:
        nest = match_nest(loop)
        if not isinstance(nest, Reduction) or nest.loops != (column,) or nest.over != (over,):
            raise illegal("keep_sums", loop, f"it is not directly around a reduction over {over.name}")
        if column.length is not None:
            raise illegal("keep_sums", loop, "it is dynamic")
        acc = nest.acc
        sums = Buffer("sums", (*acc.shape, column.extent), acc.dtype, Scope.LOCAL)
        kept = Load(sums, (*nest.start.indices, column))

        def from_sums(n: object) -> Expr | None:
            return kept if isinstance(n, Load) and n.buffer is acc else None

        start = Store(sums, kept.indices, nest.start.value)
        end = replace(nest.store, value=rewrite(nest.store.value, from_sums))
        terms, pairs = split(For(over, nest.update, parallel=False), over, tiles_of(over, size))
        inside.append(pairs[0][1])
        blocks = terms.stmts if isinstance(terms, Seq) else (terms,)
        return Alloc(
            sums, Seq((For(column, start), *(_block(b, nest, column, kept) for b in blocks), For(column, end)))
        )

    return on_loops(stmt, column, change), inside[0]


def _block(block: Stmt, nest: Reduction, column: Var, kept: Load) -> Stmt:
    """for ko: for ki: acc = acc + v   ->   for ko: for j: local acc; acc = 0; for ki: ...; sums[j] = sums[j] + acc"""
    assert isinstance(block, For)
    acc = replace(nest.acc)
    terms = replace_buffers(block.body, {nest.acc: acc})
    zero = Store(acc, nest.start.indices, neutral(nest.op, acc.dtype))
    added = Store(kept.buffer, kept.indices, Binary(nest.op, kept, Load(acc, nest.start.indices)))
    return replace(block, body=For(column, Alloc(acc, Seq((zero, terms, added)))))
