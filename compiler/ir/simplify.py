"""Simplification of expressions and statements; keeps the meaning, returns the same object where nothing changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..dtypes import BOOL, F32, I8, I16, I32, I64, U8, U16, DType, highest, lowest
from .affine import Affine, affine, linear
from .entry import Entry
from .facts import decide
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
from .rewrite import map_inner, substitute, walk_inner
from .scalar_ops import apply_binary, apply_cast, apply_unary

TRUE, FALSE = Const(True, BOOL), Const(False, BOOL)
NOTHING = Seq(())
ARITHMETIC = frozenset({"+", "-", "*", "//", "%"})
LEAVES = (Const, Var)
NO_INDICES = (Ramp, Splat, Load)


def simplify(kernel: Kernel) -> Kernel:
    """Indices to canonical form, decided guards removed, loops of one iteration and dead branches dropped."""
    body = simplify_stmt(kernel.body)
    return kernel if body is kernel.body else replace(kernel, body=body)


def simplify_expr(e: Expr) -> Expr:
    result = _simplified(e)
    assert isinstance(result, Expr)
    return result


def simplify_stmt(s: Stmt) -> Stmt:
    result = _simplified(s)
    assert not isinstance(result, Expr)
    return result


def _simplified(node: Node) -> Node:
    done: dict[int, tuple[Node, Node]] = {}
    """By identity: a node and what became of it, so that what is shared stays shared."""

    def go(n: Node) -> Node:
        if isinstance(n, LEAVES):
            return n
        entry = done.get(id(n))
        if entry is None:
            done[id(n)] = entry = n, simplified(n)
        return entry[1]

    def simplified(n: Node) -> Node:
        match n:
            case Binary() if n.op in ARITHMETIC and n.dtype == I32:
                if (form := linear(n)) is not None:
                    return _canonical(n, form)
                if _scalar_index(n):
                    leaf = map_inner(n, atoms)
                    assert isinstance(leaf, Expr)
                    return _canonical(leaf, affine(leaf))
            case For(var, body, _, _) if var.extent == 1 and var.length is None:
                return go(substitute(body, {var: Const(0)}))
            case For(var, _, _, _) if var.extent <= 0:
                return NOTHING
        return _rule(map_inner(n, go))

    def atoms(n: Node) -> Node:
        """Simplifies what an index expression is made of, without canonicalising every level of it."""
        if isinstance(n, Binary) and n.op in ARITHMETIC:  # of int32, as what it is an operand of
            return map_inner(n, atoms)
        return go(n)

    return go(node)


def _scalar_index(n: Expr) -> bool:
    """Vectors are left alone, and so is arithmetic on loaded int32 elements: those wrap around, indices never do."""
    return not any(isinstance(x, NO_INDICES) for x in walk_inner(n))


def _canonical(e: Expr, form: Affine) -> Expr:
    result = form.to_expr()
    return e if result == e else result


def _rule(n: Node) -> Node:
    rule = RULES.get(type(n))
    return n if rule is None else rule(n)


def _seq(n: Seq) -> Node:
    return _flatten(n, n.stmts)


def _around_nothing(n: For | Outline) -> Node:
    return NOTHING if n.body == NOTHING else n


def _if(n: If) -> Node:
    match n:
        case If(Const(value, _), body):
            return body if value else NOTHING
        case If(_, Seq(())):
            return NOTHING
    return n


def _alloc(n: Alloc) -> Node:
    return n.body if n.body == NOTHING or not _uses(n.body, n.buffer) else n


def _unary(n: Unary) -> Node:
    match n:
        case Unary("not", Const(value, dtype)) if dtype == BOOL:
            return FALSE if value else TRUE
        case Unary("not", Unary("not", a)):
            return a
        case Unary(op, Const(value, dtype)):
            return _fold(apply_unary(op, np.asarray(value, dtype.numpy)), n.dtype)
    return n


def _select(n: Select) -> Node:
    match n:
        case Select(Const(value, _) | Splat(Const(value, _), _), a, b):
            return a if value else b
        case Select(_, a, b) if a == b:
            return a
        case Select(Unary("not", c), a, b):
            return Select(c, b, a)
    return n


def _cast(n: Cast) -> Node:
    match n:
        case Cast(dtype, a) if a.dtype == dtype:
            return a
        case Cast(dtype, Cast(middle, a)) if a.dtype == dtype == I32 and middle == I64:
            return a
        case Cast(dtype, Cast(middle, a)) if a.dtype == F32 and dtype in (F32, I32) and _is_whole_within(a, middle):
            if dtype == F32:  # the integer has one zero, and so has what is not below 0.0
                return a if _is_positive(a) else Binary("+", a, Const(0.0, F32))
            return Cast(dtype, a)
        case Cast(dtype, Cast(narrow, a)) if a.dtype == F32 and narrow in (I8, U8, I16, U16) and dtype in (F32, I32):
            # Through a small integer and back: the same by a clamp, which needs no narrow elements.
            clamped = Binary("min", Binary("max", Cast(I32, a), _bound(lowest(narrow))), _bound(highest(narrow)))
            return Cast(dtype, clamped) if dtype != I32 else clamped
        case Cast(dtype, Const(value, source)):
            return _fold(apply_cast(dtype, np.asarray(value, source.numpy)), dtype)
    return n


def _is_positive(a: Expr) -> bool:
    """Whether `a` is clamped to what is not below 0.0."""
    match a:
        case Binary("min", Binary("max", Const(low), _), _):
            return low >= 0
    return False


def _is_whole_within(a: Expr, middle: DType) -> bool:
    """Whether conversions of `a` to `middle` and back change nothing: it is a whole number between bounds."""
    match a:
        case Binary("min", Binary("max", Const(low), Unary("round")), Const(high)):
            return middle.is_int and lowest(middle) <= low <= high <= highest(middle) and max(-low, high) <= 2**24
    return False


def _load(n: Load) -> Node:
    if not isinstance(n.guard, Const):
        return n
    return Load(n.buffer, n.indices) if n.guard.value else _zero(n.buffer.dtype, lanes_of(n))


def _binary(n: Binary) -> Node:
    op, a, b = n.op, n.a, n.b
    if isinstance(a, Const) and isinstance(b, Const) and not (op in ("/", "//", "%", "fmod") and not b.value):
        return _fold(apply_binary(op, np.asarray(a.value, a.dtype.numpy), np.asarray(b.value, b.dtype.numpy)), n.dtype)
    if op in ("and", "or") and n.dtype == BOOL:
        for x, y in ((a, b), (b, a)):
            if isinstance(x, Const):
                return y if bool(x.value) == (op == "and") else x
        return a if a == b else n
    match n:
        case Binary(op, Cast(_, x), Cast(_, y)) if op in COMPARISONS and a.dtype == I64 and x.dtype == y.dtype == I32:
            return _binary(Binary(op, x, y))
        case Binary("min", Cast(_, x), Const(value)) if x.dtype == I32 and a.dtype == I64 and value >= highest(I32):
            return a
        case Binary("max", Cast(_, x), Const(value)) if x.dtype == I32 and a.dtype == I64 and value <= lowest(I32):
            return a
    if op in COMPARISONS and a.dtype == I32 and _scalar_index(n):
        truth = decide(op, a, b)
        if truth is not None:
            return TRUE if truth else FALSE
    if op == "*":
        for x, y in ((a, b), (b, a)):
            if isinstance(x, Const) and x.value == 1:
                return y
    if op in ("-", "/") and isinstance(b, Const) and b.value == (0 if op == "-" else 1):
        return a
    if op in ("min", "max") and n.dtype == I32 and _scalar_index(n):
        return _canonical(n, affine(n))
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
    return any(isinstance(x, Load | Store) and x.buffer is buffer for x in walk_inner(body))


def _entry(n: Entry) -> Node:
    match n:
        case Entry(matrix, Const(row), Const(column)):
            return Const(matrix[int(row)][int(column)], F32)
    return n


RULES: dict[type, Callable[[Any], Node]] = {
    Seq: _seq,
    For: _around_nothing,
    Outline: _around_nothing,
    If: _if,
    Alloc: _alloc,
    Unary: _unary,
    Binary: _binary,
    Select: _select,
    Cast: _cast,
    Entry: _entry,
    Load: _load,
}
"""By kind: a node of simplified parts to a simpler one."""
