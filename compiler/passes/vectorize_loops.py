"""VECTOR loops become expressions on short vectors."""

from __future__ import annotations

from dataclasses import replace

from ..ir.affine import affine
from ..ir.all_reduce import AllReduce
from ..ir.lanes import Ramp, Splat
from ..ir.nodes import (
    Binary,
    Bitcast,
    Cast,
    Const,
    Expr,
    For,
    If,
    Kernel,
    Load,
    LoopKind,
    Node,
    Select,
    Seq,
    Stmt,
    Store,
    Unary,
    Var,
)
from ..ir.rewrite import children, free_vars, rewrite_statements, substitute


class _NotContiguous(Exception):
    """An access whose lanes are neither neighbours nor one element."""


def vectorize_loops(kernel: Kernel) -> Kernel:
    """for v < 4 vector: y[i + v] = x[i + v] * w[0]   ->   y[i..+4] = x[i..+4] * splat4(w[0])

    The last index may move with the loop. A loop with an access that is neither contiguous nor uniform is written out
    lane by lane.
    """

    def rule(n: object) -> Stmt | None:
        if not isinstance(n, For) or n.kind is not LoopKind.VECTOR:
            return None
        try:
            return _statement(n.body, n.var)
        except _NotContiguous:
            return Seq(tuple(substitute(n.body, {n.var: Const(i)}) for i in range(n.var.extent)))

    body = rewrite_statements(kernel.body, rule)
    return kernel if body is kernel.body else replace(kernel, body=body)


def _statement(s: Stmt, v: Var) -> Stmt:
    match s:
        case Seq(stmts):
            return Seq(tuple(_statement(x, v) for x in stmts))
        case If(cond, body) if v not in free_vars(cond):
            return If(cond, _statement(body, v))
        case Store(buffer, (*_, _) as indices, value):
            at = _address(indices, v)
            if isinstance(at[-1], Ramp):
                return Store(buffer, at, _vector(value, v))
    raise _NotContiguous


def _address(indices: tuple[Expr, ...], v: Var) -> tuple[Expr, ...]:
    if not indices:
        return indices
    *outer, index = indices
    form = affine(index)
    step = form.coefficient(v)
    if any(v in free_vars(a) for a, _ in form.terms if a != v) or step not in (0, 1):
        raise _NotContiguous
    if any(v in free_vars(i) for i in outer):
        raise _NotContiguous
    return (*outer, Ramp(form.without(v).to_expr(), v.extent)) if step else indices


def _vector(e: Expr, v: Var) -> Expr:
    """`e` for all lanes at once."""
    done: dict[int, Expr] = {}
    varying: dict[int, bool] = {}

    def varies(x: Node) -> bool:
        if id(x) not in varying:
            varying[id(x)] = x is v or True in [varies(c) for c in children(x)]
        return varying[id(x)]

    def go(x: Expr) -> Expr:
        if id(x) not in done:
            done[id(x)] = widen(x) if varies(x) else Splat(x, v.extent)
        return done[id(x)]

    def widen(x: Expr) -> Expr:
        match x:
            case Var():
                return Ramp(Const(0), v.extent)
            case Unary(op, a):
                return Unary(op, go(a))
            case Binary(op, a, b):
                return Binary(op, go(a), go(b))
            case Select(c, a, b):
                return Select(go(c), go(a), go(b))
            case Cast(dtype, a):
                return Cast(dtype, go(a))
            case Bitcast(dtype, a):
                return Bitcast(dtype, go(a))
            case AllReduce(op, a, among):
                return AllReduce(op, go(a), among)
            case Load(buffer, indices, guard) if guard is None or v not in free_vars(guard):
                at = _address(indices, v)
                load = Load(buffer, at, guard)
                return load if at and isinstance(at[-1], Ramp) else Splat(load, v.extent)
        raise _NotContiguous

    return go(e)
