"""Buffers become one-dimensional: for targets with linear memory."""

from __future__ import annotations

from dataclasses import replace

from ..ir.affine import flat_offset
from ..ir.nodes import Alloc, Buffer, Expr, Kernel, Load, Scope, Stmt, Store
from ..ir.rewrite import rewrite


def flatten_indices(kernel: Kernel) -> Kernel:
    """x[i, j]   ->   x[4*i + j]"""
    return _flatten(kernel, frozenset(Scope))


def flatten_locals(kernel: Kernel) -> Kernel:
    """Flattens the indices of buffers that are not parameters."""
    return _flatten(kernel, frozenset((Scope.LOCAL, Scope.SHARED)))


def _flatten(kernel: Kernel, scopes: frozenset[Scope]) -> Kernel:
    flat: dict[Buffer, Buffer] = {}

    def line(b: Buffer) -> Buffer:
        if b not in flat:
            whole = len(b.shape) == 1 and b.values is None
            flat[b] = b if whole else Buffer(b.name, (b.size,), b.dtype, b.scope, b.constant, b.layout)
        return flat[b]

    def index(b: Buffer, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return (flat_offset(b.shape, indices).to_expr(),)

    def rule(n: object) -> Expr | Stmt | None:
        match n:
            case Load(b, indices, guard) if b.scope in scopes:
                at = index(b, indices)
                return None if line(b) is b and at == indices else Load(line(b), at, guard)
            case Store(b, indices, value) if b.scope in scopes:
                at = index(b, indices)
                return None if line(b) is b and at == indices else Store(line(b), at, value)
            case Alloc(b, body) if b.scope in scopes and line(b) is not b:
                return Alloc(line(b), body)
        return None

    body = rewrite(kernel.body, rule)
    params = tuple(line(b) if b.scope in scopes else b for b in kernel.params)
    same = body is kernel.body and params == kernel.params
    return kernel if same else replace(kernel, params=params, body=body)
