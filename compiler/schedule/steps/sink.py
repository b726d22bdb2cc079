"""sink: a parallel loop is pushed down to the stores, which makes register tiles."""

from __future__ import annotations

from ...ir.nodes import Alloc, Buffer, Expr, For, If, Load, Outline, Seq, Stmt, Store, Var
from ...ir.rewrite import free_vars, rewrite
from .loops import illegal, on_loops


def sink(stmt: Stmt, var: Var) -> Stmt:
    """for i < 4: local acc; acc = 0; for k reduce: acc = acc + x[i, k]; y[i] = acc
    ->  local acc[4]; for i: acc[i] = 0; for k reduce: for i: acc[i] = acc[i] + x[i, k]; for i: y[i] = acc[i]

    Local buffers inside gain a last dimension: the loop that is sunk last is innermost, in loops and in memory. The
    loop must be parallel.
    """

    def change(loop: For) -> Stmt:
        if not loop.parallel:
            raise illegal("sink", loop, "it is a reduction loop")
        return _push(loop, loop.body, {})

    return on_loops(stmt, var, change)


def _push(loop: For, s: Stmt, wide: dict[Buffer, Buffer]) -> Stmt:
    match s:
        case Seq(stmts):
            return Seq(tuple(_push(loop, x, wide) for x in stmts))
        case For(v, body, kind, parallel):
            return For(v, _push(loop, body, wide), kind, parallel)
        case Outline(body):
            return Outline(_push(loop, body, wide))
        case Alloc(buffer, body):
            grown = Buffer(buffer.name, (*buffer.shape, loop.var.extent), buffer.dtype, buffer.scope)
            return Alloc(grown, _push(loop, body, {**wide, buffer: grown}))
        case If(cond, body) if loop.var not in free_vars(cond):
            return If(cond, _push(loop, body, wide))
        case Store() | If():
            return For(loop.var, _widen(s, loop.var, wide), loop.kind, loop.parallel)
    raise AssertionError(f"not a statement: {s!r}")


def _widen(s: Store | If, var: Var, wide: dict[Buffer, Buffer]) -> Stmt:
    def rule(n: object) -> Expr | Stmt | None:
        match n:
            case Load(buffer, indices, guard) if buffer in wide:
                return Load(wide[buffer], (*indices, var), guard)
            case Store(buffer, indices, value) if buffer in wide:
                return Store(wide[buffer], (*indices, var), value)
        return None

    return rewrite(s, rule)
