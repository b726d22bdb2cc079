"""interleave: the updates of a register tile are written out in the order of what they load."""

from __future__ import annotations

from ...ir.index import flat_offset
from ...ir.nodes import Const, For, LoopKind, Scope, Seq, Stmt, Store, Var
from ...ir.rewrite import loads, rewrite_top_down, substitute
from ...ir.simplify import simplify_stmt


def interleave(stmt: Stmt) -> Stmt:
    """for r < 2 unroll reduce: for i < 2 unroll: acc[i] = acc[i] + x[i + r] * w[r]
    ->  acc[0] = acc[0] + x[0] * w[0]; acc[0] = acc[0] + x[1] * w[1]; acc[1] = acc[1] + x[1] * w[0]; ...

    So an element that overlapping windows share is loaded once and needs a register for a moment only. Concerns
    reduction loops that are unrolled, with nothing inside but unrolled and vector loops around one update. Reductions
    are reassociated.
    """

    def rule(n: object) -> Stmt | None:
        if isinstance(n, For) and not n.parallel and n.kind is LoopKind.UNROLL:
            return _in_order(n)
        return None

    return rewrite_top_down(stmt, rule)


def _in_order(nest: For) -> Stmt | None:
    unrolled: list[Var] = []
    body: Stmt = nest
    while isinstance(body, For) and body.kind is LoopKind.UNROLL:
        unrolled.append(body.var)
        body = body.body
    update = body.body if isinstance(body, For) and body.kind is LoopKind.VECTOR else body
    if not isinstance(update, Store) or update.buffer.scope is not Scope.LOCAL:
        return None
    written = [body]
    for v in unrolled:
        written = [substitute(s, {v: Const(i)}) for s in written for i in range(v.extent)]
    return Seq(tuple(sorted((simplify_stmt(s) for s in written), key=_place)))


def _place(update: Stmt) -> tuple[int, ...]:
    """Where the elements that are no constants lie, relative to each other."""
    store = update.body if isinstance(update, For) else update
    assert isinstance(store, Store)
    data = (x for x in loads(store.value) if x.buffer.scope is Scope.GLOBAL and not x.buffer.constant)
    return tuple(flat_offset(x.buffer.shape, x.indices).constant for x in data)
