"""Heads of attention: (batch, length, heads * size), as models compute them, and (batch, heads, length, size)."""

from __future__ import annotations

from ...ir.sizes import Size, equal
from ...tensor import Tensor, compute
from ..call import Call


def heads_of(name: str, t: Tensor, heads: int, size: int, start: int = 0) -> Tensor:
    """The columns of `t` from `start` on as (batch, heads, length, size)."""
    batch, length, _ = t.shape
    return compute(name, (batch, heads, length, size), (t,), lambda b, h, i, d: t[b, i, h * size + d + start])


def heads_joined(call: Call, t: Tensor) -> Tensor:
    """(batch, heads, length, size) as (batch, length, heads * size)."""
    batch, _, length, _ = t.shape
    heads, size = call.fixed(t, (1, 3))
    return compute(
        f"{call.name}.joined", (batch, length, heads * size), (t,), lambda b, i, c: t[b, c // size, i, c % size]
    )


def first_keys(t: Tensor, keys: Size) -> Tensor:
    """The first `keys` of keys or values of (batch, heads, length, size)."""
    if equal(t.shape[2], keys):
        return t
    return compute(f"{t.name}.first", (*t.shape[:2], keys, t.shape[3]), (t,), lambda *i: t[i])
