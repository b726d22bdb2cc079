"""A table with the bytes of another constant is in memory once: an embedding that is the last product's matrix, too."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from ..ir.affine import flat_offset
from ..ir.nodes import Expr, Load, Node
from ..ir.rewrite import rewrite
from ..ir.simplify import simplify_expr
from .fuse.dataflow import looks_up
from .program import TensorProgram
from .replace_tensors import replace_tensors
from .tensor import Tensor

LEAST = 2**12
"""Bytes of a table: a kernel takes as many."""


def join_tables(program: TensorProgram) -> TensorProgram:
    """y[i, j] = table[index[i], j]   ->   y[i, j] = w[index[i], j // 16, j % 16]

    of few elements of `table`, where something else reads all of the constant w, of the same bytes: MatMulNBits has
    three dimensions where GatherBlockQuantized has two.
    """
    whole: dict[tuple[str, int], dict[Tensor, None]] = {}
    for t in program.tensors:
        for r in t.reads:
            if _is_shipped(r) and not looks_up(t, r):
                whole.setdefault(_kind(r), {})[r] = None

    def make(t: Tensor) -> tuple[Tensor]:
        for table in t.reads:
            if not _is_shipped(table) or not looks_up(t, table):
                continue
            same = whole.get(_kind(table), ())
            w = table if table in same else next((w for w in same if _equal(w, table)), table)
            if w is not table:
                t = _reading(t, table, w)
        return (t,)

    return replace_tensors(program, make)


def _is_shipped(t: Tensor) -> bool:
    return t.data is not None and not t.prepared and t.data.nbytes >= LEAST


def _kind(t: Tensor) -> tuple[str, int]:
    assert t.data is not None
    return t.dtype.name, t.data.size


def _equal(a: Tensor, b: Tensor) -> bool:
    """Whether two constants have the same bits, in row-major order."""
    assert a.data is not None
    assert b.data is not None
    if a.packs != b.packs or a.data.ravel()[:1].tobytes() != b.data.ravel()[:1].tobytes():
        return False
    x, y = (np.ascontiguousarray(t.data).reshape(-1).view(np.uint8) for t in (a, b))
    return np.array_equal(x, y)


def _reading(t: Tensor, table: Tensor, w: Tensor) -> Tensor:
    """`t` with elements of `w` in place of those of `table`."""
    assert t.body is not None

    def rule(n: Node) -> Expr | None:
        match n:
            case Load(b, indices, guard) if b is table.buffer:
                return Load(w.buffer, _moved(indices, table.extents, w.extents), guard)
        return None

    return replace(t, body=rewrite(t.body, rule, {Load}), reads=tuple(w if r is table else r for r in t.reads))


def _moved(indices: tuple[Expr, ...], old: tuple[int, ...], new: tuple[int, ...]) -> tuple[Expr, ...]:
    """Where the element at `indices` of a shape stands in another one: leading dimensions stay that both have."""
    same = next((d for d, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    at, stride = flat_offset(old[same:], indices[same:]).to_expr(), prod(new[same:])
    moved = list(indices[:same])
    for extent in new[same:]:
        stride //= extent
        moved.append(simplify_expr((at // stride) % extent))
    return tuple(moved)
