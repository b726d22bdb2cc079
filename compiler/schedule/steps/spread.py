"""spread: the outermost loops become a GPU's grid."""

from __future__ import annotations

from ...errors import ScheduleError
from ...ir.construct import all_of
from ...ir.nodes import Expr, For, If, LoopKind, Stmt, Var
from ...ir.rewrite import substitute
from ...ir.simplify import simplify_expr


def spread(stmt: Stmt, threads: list[int]) -> Stmt:
    """for i < 10: for j < 8: S(i, j)          (threads = [4, 8])
    ->  for ib < 3 block: for jb < 1 block: for it < 4 thread: for jt < 8 thread: if 4*ib + it < 10: S(4*ib + it, jt)

    One outer loop per number, the last becoming dimension x. The loops must be parallel and perfectly nested. The
    condition is left out where the threads divide the loop. Of a dynamic loop there are as many blocks as its length
    takes.
    """
    loops: list[Var] = []
    body = stmt
    while len(loops) < len(threads):
        if not isinstance(body, For) or not body.parallel:
            raise ScheduleError(f"spread: {len(loops)} outermost loops are parallel, {len(threads)} are needed")
        loops.append(body.var)
        body = body.body
    blocks = [_block(v, n) for v, n in zip(loops, threads, strict=True)]
    inside = [Var(f"{v.name}t", n) for v, n in zip(loops, threads, strict=True)]
    env: dict[Var, Expr] = {}
    conditions = []
    for v, b, t in zip(loops, blocks, inside, strict=True):
        env[v] = b * t.extent + t
        if v.length is not None and t.extent > 1:
            conditions.append(env[v] < v.length)
        elif v.extent % t.extent:
            conditions.append(env[v] < v.extent)
    body = substitute(body, env)
    if conditions:
        body = If(all_of(*conditions), body)
    for v in reversed(inside):
        body = For(v, body, LoopKind.THREAD)
    for v in reversed(blocks):
        body = For(v, body, LoopKind.BLOCK)
    return body


def _block(v: Var, threads: int) -> Var:
    length = None if v.length is None else simplify_expr((v.length + (threads - 1)) // threads)
    return Var(f"{v.name}b", -(-v.extent // threads), length)
