"""accumulate: K-blocking. Each block of a long sum accumulates onto the stored partial sum."""

from __future__ import annotations

from dataclasses import replace

from ...ir.nest import Reduction, match_nest
from ...ir.nodes import Alloc, Const, Expr, For, Load, Select, Seq, Stmt, Store, Var
from ...ir.rewrite import substitute
from .loops import find_loop, illegal


def accumulate(stmt: Stmt, var: Var, size: int, *, apart: bool = False) -> For:
    """for i: local acc = s; for k < 512: acc = acc + v; y[i] = acc
    ->  for ko < 2: for i: local acc = (ko > 0 ? y[i] : s); for ki < 256: acc = acc + v; y[i] = acc

    With `apart` every block starts from zero, so that the error does not grow with the length of the whole:
    ->  for ko < 2: for i: local acc = (ko > 0 ? 0 : s); for ki < 256: acc = acc + v; y[i] = (ko > 0 ? y[i] + acc : acc)

    `var` must be the outermost reduction loop and `size` divide it; y must hold the plain sum: the operand of an
    epilogue may share its memory.
    """
    loop, nest = find_loop(stmt, var), match_nest(stmt)
    if not isinstance(nest, Reduction) or nest.over[0] is not var:
        raise illegal("accumulate", loop, "it is not the outermost loop of a reduction")
    if var.extent % size:
        raise illegal("accumulate", loop, f"blocks of {size} do not make up {var.extent} iterations")
    y, acc = nest.store, nest.start
    if not stores_sum(nest):
        raise illegal("accumulate", loop, f"{y.buffer.name} does not hold the sum")
    block, inside = Var(f"{var.name}o", var.extent // size), Var(f"{var.name}i", size)
    body: Stmt = substitute(nest.update, {var: block * size + inside})
    for v in reversed((inside, *nest.over[1:])):
        body = For(v, body, parallel=False)
    later, earlier = Const(0) < block, Load(y.buffer, y.indices)
    start: Expr = Const(0.0, y.buffer.dtype) if apart else earlier
    if apart:
        y = replace(y, value=Select(later, earlier + y.value, y.value))
    body = Alloc(acc.buffer, Seq((Store(acc.buffer, acc.indices, Select(later, start, acc.value)), body, y)))
    for v in reversed(nest.loops):
        body = For(v, body)
    return For(block, body, parallel=False)


def stores_sum(nest: Reduction) -> bool:
    """Whether the result is the plain sum, without an epilogue."""
    value = nest.store.value
    return isinstance(value, Load) and value.buffer is nest.acc and nest.store.buffer.dtype == nest.acc.dtype
