"""Buffers become one-dimensional: what targets with linear memory want."""

from __future__ import annotations

from dataclasses import replace

from ..ir.index import flat_offset
from ..ir.nodes import Alloc, Buffer, Expr, Kernel, Load, Stmt, Store
from ..ir.rewrite import rewrite


def flatten_indices(kernel: Kernel) -> Kernel:
    """x[i, j]   ->   x[4*i + j]"""
    flat: dict[Buffer, Buffer] = {}

    def line(b: Buffer) -> Buffer:
        if b not in flat:
            flat[b] = Buffer(b.name, (b.size,), b.dtype, b.scope, b.constant, b.layout)
        return flat[b]

    def index(b: Buffer, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return (flat_offset(b.shape, indices).to_expr(),)

    def rule(n: object) -> Expr | Stmt | None:
        match n:
            case Load(b, indices, guard):
                return Load(line(b), index(b, indices), guard)
            case Store(b, indices, value):
                return Store(line(b), index(b, indices), value)
            case Alloc(b, body):
                return Alloc(line(b), body)
        return None

    body = rewrite(kernel.body, rule)
    return replace(kernel, params=tuple(line(b) for b in kernel.params), body=body)
