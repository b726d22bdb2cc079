"""accumulate: a long sum in blocks, each of which goes on from what the result holds."""

from __future__ import annotations

from ...ir.nodes import Alloc, Const, Expr, For, Load, Select, Seq, Stmt, Store, Var
from ...ir.rewrite import loads, rewrite, substitute
from ..nest import Reduction, match_nest
from .loops import find_loop, illegal


def accumulate(stmt: Stmt, var: Var, size: int) -> tuple[Var, Stmt, Stmt | None]:
    """for i: local acc = s; for k < 512: acc = acc + v; y[i] = f(acc)
    ->  for ko < 2: for i: local acc = (ko > 0 ? y[i] : s); for ki < 256: acc = acc + v; y[i] = acc
        for i: y[i] = f(y[i])

    Returns ko, what its loop is to hold, and the last loop, None where f(acc) is acc. `var` must be the outermost
    reduction loop and `size` divide it; y must be of the type of the sum.
    """
    loop, nest = find_loop(stmt, var), match_nest(stmt)
    if not isinstance(nest, Reduction) or nest.over[0] is not var:
        raise illegal("accumulate", loop, "it is not the outermost loop of a reduction")
    if var.extent % size:
        raise illegal("accumulate", loop, f"blocks of {size} do not make up {var.extent} iterations")
    y, acc = nest.store, nest.start
    if y.buffer.dtype != acc.buffer.dtype or any(x.buffer is y.buffer for x in loads(y.value)):
        raise illegal("accumulate", loop, f"{y.buffer.name} cannot hold sums of {acc.buffer.dtype}")
    block, inside = Var(f"{var.name}o", var.extent // size), Var(f"{var.name}i", size)
    body: Stmt = substitute(nest.update, {var: block * size + inside})
    for v in reversed((inside, *nest.over[1:])):
        body = For(v, body, parallel=False)
    here = Load(y.buffer, y.indices)
    start = Store(acc.buffer, acc.indices, Select(Const(0) < block, here, acc.value))
    stop = Store(y.buffer, y.indices, Load(acc.buffer, acc.indices))
    sums = Alloc(acc.buffer, Seq((start, body, stop)))

    def finished(n: object) -> Expr | None:
        return here if isinstance(n, Load) and n.buffer is acc.buffer else None

    value = rewrite(y.value, finished)
    last = None if value == here else _around(nest.loops, Store(y.buffer, y.indices, value))
    return block, _around(nest.loops, sums), last


def _around(loops: tuple[Var, ...], body: Stmt) -> Stmt:
    for v in reversed(loops):
        body = For(v, body)
    return body
