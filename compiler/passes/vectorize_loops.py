"""VECTOR loops become expressions on short vectors."""

from __future__ import annotations

from dataclasses import replace

from ..errors import InternalError
from ..ir.index import affine
from ..ir.nodes import (
    Binary,
    Bitcast,
    Cast,
    Const,
    Expr,
    For,
    Kernel,
    Load,
    LoopKind,
    Ramp,
    Select,
    Seq,
    Splat,
    Stmt,
    Store,
    Unary,
    Var,
)
from ..ir.rewrite import free_vars, rewrite


def vectorize_loops(kernel: Kernel) -> Kernel:
    """for v < 4 vector: y[i + v] = x[i + v] * w[0]   ->   y[i..+4] = x[i..+4] * splat4(w[0])

    Indices must be flat. Raises InternalError where an access is neither contiguous nor uniform: rules tag only loops
    that `access.vectorisable` allows.
    """

    def rule(n: object) -> Stmt | None:
        if isinstance(n, For) and n.kind is LoopKind.VECTOR:
            return _statement(n.body, n.var, kernel.name)
        return None

    return replace(kernel, body=rewrite(kernel.body, rule))


def _statement(s: Stmt, v: Var, kernel: str) -> Stmt:
    match s:
        case Seq(stmts):
            return Seq(tuple(_statement(x, v, kernel) for x in stmts))
        case Store(buffer, (index,), value):
            at = _address(index, v, kernel)
            if not isinstance(at, Ramp):
                raise InternalError(
                    f"vectorize_loops: kernel {kernel}: every lane stores to the same {buffer.name}[{index}]"
                )
            return Store(buffer, (at,), _wide(value, v, kernel))
    raise InternalError(f"vectorize_loops: kernel {kernel}: a vector loop holds more than stores")


def _address(index: Expr, v: Var, kernel: str) -> Expr:
    form = affine(index)
    step = form.coefficient(v)
    if any(v in free_vars(a) for a, _ in form.terms if a != v) or step not in (0, 1):
        raise InternalError(f"vectorize_loops: kernel {kernel}: address {index} is not contiguous in {v.name}")
    return Ramp(form.without(v).to_expr(), v.extent) if step else index


def _wide(e: Expr, v: Var, kernel: str) -> Expr:
    """`e` for all lanes at once."""
    return _vector(e, v, kernel) if v in free_vars(e) else Splat(e, v.extent)


def _vector(e: Expr, v: Var, kernel: str) -> Expr:
    if v not in free_vars(e):
        return Splat(e, v.extent)

    def go(x: Expr) -> Expr:
        return _vector(x, v, kernel)

    match e:
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
        case Load(buffer, (index,), guard):
            if guard is not None and v in free_vars(guard):
                raise InternalError(f"vectorize_loops: kernel {kernel}: a guard depends on the vector loop {v.name}")
            at = _address(index, v, kernel)
            load = Load(buffer, (at,), guard)
            return load if isinstance(at, Ramp) else Splat(load, v.extent)
    raise InternalError(f"vectorize_loops: kernel {kernel}: cannot widen {e!r}")
