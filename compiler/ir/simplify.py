"""Simplification of expressions and statements; keeps the meaning, returns the same object where nothing changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..dtypes import BOOL, F32, I8, I16, I32, U8, U16, DType, highest, lowest
from .index import affine, decide
from .lanes import Ramp, Splat, lanes_of
from .nodes import (
    COMPARISONS,
    Alloc,
    Binary,
    Cast,
    Const,
    Expr,
    For,
    If,
    Kernel,
    Load,
    Node,
    Outline,
    Select,
    Seq,
    Stmt,
    Store,
    Unary,
    Var,
)
from .rewrite import map_children, substitute, walk
from .scalar_ops import apply_binary, apply_cast, apply_unary

TRUE, FALSE = Const(True, BOOL), Const(False, BOOL)
NOTHING = Seq(())
ARITHMETIC = frozenset({"+", "-", "*", "//", "%"})


def simplify(kernel: Kernel) -> Kernel:
    """Indices to canonical form, decided guards removed, loops of one iteration and dead branches dropped."""
    body = simplify_stmt(kernel.body)
    return kernel if body is kernel.body else replace(kernel, body=body)


def simplify_expr(e: Expr) -> Expr:
    result = _simplify(e, {})
    assert isinstance(result, Expr)
    return result


def simplify_stmt(s: Stmt) -> Stmt:
    result = _simplify(s, {})
    assert not isinstance(result, Expr)
    return result


_Done = dict[int, tuple[Node, Node]]
"""By identity: a node and what became of it, so that what is shared stays shared."""


def _simplify(n: Node, done: _Done) -> Node:
    if isinstance(n, Const | Var):
        return n
    known = done.get(id(n))
    if known is None:
        done[id(n)] = known = n, _simplified(n, done)
    return known[1]


def _simplified(n: Node, done: _Done) -> Node:
    match n:
        case For(var, body, _, _) if var.extent == 1 and var.length is None:
            return _simplify(substitute(body, {var: Const(0)}), done)
        case For(var, _, _, _) if var.extent <= 0:
            return NOTHING
        case Binary() if n.op in ARITHMETIC and n.dtype == I32 and _scalar_index(n):
            leaf = map_children(n, lambda c: _atoms(c, done))
            assert isinstance(leaf, Expr)
            return _canonical(leaf)
    return _rule(map_children(n, lambda c: _simplify(c, done)))


def _atoms(n: Node, done: _Done) -> Node:
    """Simplifies what an index expression is made of, without canonicalising every level of it."""
    if isinstance(n, Binary) and n.op in ARITHMETIC and n.dtype == I32:
        return map_children(n, lambda c: _atoms(c, done))
    return _simplify(n, done)


def _scalar_index(n: Expr) -> bool:
    """Vectors are left alone, and so is arithmetic on loaded int32 elements: those wrap around, indices never do."""
    return not any(isinstance(x, Ramp | Splat | Load) for x in walk(n))


def _canonical(e: Expr) -> Expr:
    result = affine(e).to_expr()
    return e if result == e else result


def _rule(n: Node) -> Node:
    match n:
        case Seq(stmts):
            return _flatten(n, stmts)
        case For(_, Seq(()), _, _) | Alloc(_, Seq(())) | Outline(Seq(())):
            return NOTHING
        case If(Const(value, _), body):
            return body if value else NOTHING
        case If(_, Seq(())):
            return NOTHING
        case Alloc(buffer, body) if not _uses(body, buffer):
            return body
        case Unary("not", Const(value, dtype)) if dtype == BOOL:
            return FALSE if value else TRUE
        case Unary("not", Unary("not", a)):
            return a
        case Unary(op, Const(value, dtype)):
            return _fold(apply_unary(op, np.asarray(value, dtype.numpy)), n.dtype)
        case Binary(op, a, b):
            return _binary(n, op, a, b)
        case Select(Const(value, _) | Splat(Const(value, _), _), a, b):
            return a if value else b
        case Select(_, a, b) if a == b:
            return a
        case Select(Unary("not", c), a, b):
            return Select(c, b, a)
        case Cast(dtype, a) if a.dtype == dtype:
            return a
        case Cast(dtype, Cast(narrow, a)) if a.dtype == F32 and narrow in (I8, U8, I16, U16) and dtype in (F32, I32):
            # Through a small integer and back: the same by a clamp, which needs no narrow elements.
            clamped = Binary("min", Binary("max", Cast(I32, a), _bound(lowest(narrow))), _bound(highest(narrow)))
            return Cast(dtype, clamped) if dtype != I32 else clamped
        case Cast(dtype, Const(value, source)):
            return _fold(apply_cast(dtype, np.asarray(value, source.numpy)), dtype)
        case Load(buffer, indices, Const(value, _)):
            return Load(buffer, indices) if value else _zero(buffer.dtype, lanes_of(n))
    return n


def _binary(n: Binary, op: str, a: Expr, b: Expr) -> Expr:
    if isinstance(a, Const) and isinstance(b, Const) and not (op in ("/", "//", "%", "fmod") and not b.value):
        return _fold(apply_binary(op, np.asarray(a.value, a.dtype.numpy), np.asarray(b.value, b.dtype.numpy)), n.dtype)
    if op in ("and", "or") and n.dtype == BOOL:
        for x, y in ((a, b), (b, a)):
            if isinstance(x, Const):
                return y if bool(x.value) == (op == "and") else x
        return a if a == b else n
    if op in COMPARISONS and a.dtype == I32 and _scalar_index(n):
        known = decide(op, a, b)
        if known is not None:
            return TRUE if known else FALSE
    if op == "*":
        for x, y in ((a, b), (b, a)):
            if isinstance(x, Const) and x.value == 1:
                return y
    if op in ("-", "/") and isinstance(b, Const) and b.value == (0 if op == "-" else 1):
        return a
    if op in ("min", "max") and n.dtype == I32 and _scalar_index(n):
        return _canonical(n)
    return n


def _fold(value: object, dtype: DType) -> Const:
    item = np.asarray(value).item()
    return Const(bool(item) if dtype == BOOL else item, dtype)


def _bound(value: float) -> Const:
    return Const(int(value))


def _zero(dtype: DType, lanes: int) -> Expr:
    zero = Const(False if dtype == BOOL else 0.0 if dtype.is_float else 0, dtype)
    return Splat(zero, lanes) if lanes > 1 else zero


def _flatten(n: Seq, stmts: tuple[Stmt, ...]) -> Stmt:
    flat: list[Stmt] = []
    for s in stmts:
        flat.extend(s.stmts if isinstance(s, Seq) else (s,))
    if len(flat) == 1:
        return flat[0]
    return n if len(flat) == len(stmts) and all(x is y for x, y in zip(flat, stmts, strict=True)) else Seq(tuple(flat))


def _uses(body: Stmt, buffer: object) -> bool:
    return any(isinstance(x, Load | Store) and x.buffer is buffer for x in walk(body))
