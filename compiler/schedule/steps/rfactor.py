"""rfactor: a reduction over contiguous elements keeps one partial result per lane."""

from __future__ import annotations

from dataclasses import replace

from ...ir.nodes import Alloc, Binary, Buffer, Const, Expr, ExprLike, For, Load, LoopKind, Seq, Stmt, Store, Var
from ...ir.rewrite import rewrite, rewrite_top_down, substitute
from ...ir.simplify import simplify_expr
from .loops import find_loop, illegal


def rfactor(stmt: Stmt, var: Var, lanes: int, neutral: Const, vectors: int = 1) -> Stmt:
    """local acc; acc = init; for k < 10 reduce: acc = acc + x[k]; ...
    ->  local acc; acc = init; local part[4]; part[:] = 0; for ko < 2 reduce: part[:] = part[:] + x[4*ko:4*ko+4];
        for l unroll: acc = acc + part[l]; for k < 2 reduce: acc = acc + x[8 + k]; ...

    `var` must be the innermost reduction loop around one update of the accumulator. Sums are reassociated. Several
    `vectors` of partial results depend on no other one's update.
    """

    find_loop(stmt, var)

    def rule(n: object) -> Stmt | None:
        if isinstance(n, For) and not n.parallel and _holds(n, var):
            return _factor(n, var, lanes, neutral, vectors)
        return None

    return rewrite_top_down(stmt, rule)


def _holds(loop: For, var: Var) -> bool:
    return loop.var is var or (isinstance(loop.body, For) and not loop.body.parallel and _holds(loop.body, var))


def _factor(nest: For, var: Var, lanes: int, neutral: Const, vectors: int) -> Stmt:
    chain: list[For] = []
    inner: Stmt = nest
    while isinstance(inner, For):
        chain.append(inner)
        inner = inner.body
    if chain[-1].var is not var or not isinstance(inner, Store) or not isinstance(inner.value, Binary):
        raise illegal("rfactor", nest, f"{var.name} is not the innermost loop around an update")
    update = inner
    combine = inner.value.op
    together = lanes * vectors
    part = Buffer("part", (together,), update.buffer.dtype, update.buffer.scope)
    vector, lane, last = Var("vector", vectors), Var("lane", lanes), Var("lane", together)
    place: Expr = lane if vectors == 1 else vector * lanes + lane
    outer, tail, behind = _pieces(var, together)

    def partial(n: object) -> Load | Store | None:
        match n:
            case Load(buffer, _, guard) if buffer is update.buffer:
                return Load(part, (place,), guard)
        return None

    def each(value: Expr) -> Stmt:
        """Every partial result becomes `value`."""
        lanes_of_one = For(lane, Store(part, (place,), value), LoopKind.VECTOR)
        return lanes_of_one if vectors == 1 else For(vector, lanes_of_one, LoopKind.UNROLL)

    step = each(substitute(rewrite(update.value, partial), {var: outer * together + place}))
    step = For(outer, step, parallel=False)
    for loop in reversed(chain[:-1]):
        step = replace(loop, body=step)
    acc = Load(update.buffer, update.indices)
    collect = For(
        last, Store(update.buffer, update.indices, Binary(combine, acc, Load(part, (last,)))), LoopKind.UNROLL, False
    )
    pieces: list[Stmt] = [Alloc(part, Seq((each(neutral), step, collect)))]
    if tail is not None:
        remaining: Stmt = For(tail, substitute(update, {var: tail + behind}), parallel=False)
        for loop in reversed(chain[:-1]):
            remaining = replace(loop, body=remaining)
        pieces.append(remaining)
    return Seq(tuple(pieces))


def _pieces(var: Var, lanes: int) -> tuple[Var, Var | None, ExprLike]:
    """The loop over whole vectors, that over the elements after the last, if there are any, and where it starts."""
    whole, rest = divmod(var.extent, lanes)
    if var.length is None:
        return Var(f"{var.name}o", whole), Var(var.name, rest) if rest else None, whole * lanes
    vectors = simplify_expr(var.length // lanes)
    tail = simplify_expr(var.length % lanes)
    return Var(f"{var.name}o", whole, vectors), Var(var.name, lanes - 1, tail), vectors * lanes
