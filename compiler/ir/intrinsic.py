"""Statements that are one instruction of the target: `Tensorized`, and what recognises them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .affine import Affine, flat_offset
from .nodes import Binary, Buffer, Cast, Const, Expr, For, Load, Stmt, Store, Var


@dataclass(frozen=True, slots=True, eq=False)
class Intrinsic:
    """An instruction on tiles in memory or in the tile registers of the target. What it does is `body`: nested loops
    around one store, over `params` of two dimensions, what it writes first. `name` is that of the target's function."""

    name: str
    params: tuple[Buffer, ...]
    body: Stmt


@dataclass(frozen=True, slots=True)
class Tensorized(Stmt):
    """`body` as one instruction: `bind` matches it with the intrinsic. It means `body`."""

    intrinsic: Intrinsic
    body: Stmt


@dataclass(frozen=True, slots=True)
class Operand:
    """Where a parameter of an intrinsic lies: its rows are `stride` elements apart, from element `base` of the buffer
    on, its columns one after the other."""

    buffer: Buffer
    base: Expr
    stride: int


def bind(intrinsic: Intrinsic, stmt: Stmt) -> dict[Buffer, Operand] | None:
    """The operands by parameter where `stmt` does what the intrinsic does, None elsewhere. Its loops may be in another
    order: those of a sum still add up in the order of its steps."""
    loops, inner = _nest(stmt)
    params, pattern = _nest(intrinsic.body)
    if not isinstance(inner, Store) or not isinstance(pattern, Store) or len(loops) != len(params):
        return None
    pairs: list[tuple[Load | Store, Load | Store]] = [(pattern, inner)]
    if not _unify(pattern.value, inner.value, pairs):
        return None
    by_buffer: dict[Buffer, Operand] = {}
    variables: dict[Var, Var] = {}
    for of, access in pairs:
        operand = _operand(of, access, loops, variables)
        if operand is None or by_buffer.setdefault(of.buffer, operand) != operand:
            return None
    if set(variables.values()) != set(loops) or set(variables) != set(params):
        return None
    return by_buffer


def _nest(stmt: Stmt) -> tuple[list[Var], Stmt]:
    loops: list[Var] = []
    while isinstance(stmt, For):
        loops.append(stmt.var)
        stmt = stmt.body
    return loops, stmt


def _unify(pattern: Expr, e: Expr, pairs: list[tuple[Load | Store, Load | Store]]) -> bool:
    match pattern, e:
        case Load(), Load():
            pairs.append((pattern, e))
            return e.guard is None and e.dtype == pattern.dtype
        case Binary(op, a, b), Binary(other, x, y):
            return op == other and _unify(a, x, pairs) and _unify(b, y, pairs)
        case Cast(to, a), Cast(other, x):
            return to == other and _unify(a, x, pairs)
        case Const(), Const():
            return pattern == e
    return False


def _operand(of: Load | Store, access: Load | Store, loops: list[Var], variables: dict[Var, Var]) -> Operand | None:
    """Where the access lies whose indices in the pattern are a row's and a column's variable."""
    if of.buffer.dtype != access.buffer.dtype:
        return None
    form = flat_offset(access.buffer.shape, access.indices)
    strides = {v: form.coefficient(v) for v in loops}
    inside = [v for v, c in strides.items() if c]
    base = _without(form, inside)
    if any(v in loops for v, _ in base.terms) or len(inside) != len(of.indices):
        return None
    row, column = sorted(inside, key=lambda v: -strides[v])
    for index, v in zip(of.indices, (row, column), strict=True):
        assert isinstance(index, Var)
        if variables.setdefault(index, v) is not v or index.extent != v.extent:
            return None
    return Operand(access.buffer, base.to_expr(), strides[row]) if strides[column] == 1 else None


def _without(form: Affine, variables: list[Var]) -> Affine:
    for v in variables:
        form = form.without(v)
    return form


Operands = tuple[tuple[Buffer, Operand], ...]


def operands(s: Tensorized) -> Operands:
    """The parameters of the intrinsic, in their order, and where they lie."""
    bound: Mapping[Buffer, Operand] | None = bind(s.intrinsic, s.body)
    assert bound is not None, "the body is no longer what the intrinsic does"
    return tuple((p, bound[p]) for p in s.intrinsic.params)
