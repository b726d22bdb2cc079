"""Operands of integer products: 8-bit tensors less their zero points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...dtypes import I32
from ...ir.construct import select
from ...ir.nodes import Expr
from ...tensor import Tensor, compute
from ..call import Call

Element = Callable[[Sequence[Expr], Expr | None], Expr]
ZeroPointAt = Callable[[Sequence[Expr], Tensor], Expr]
"""The element of a zero point for the operand's element at an index."""


@dataclass(frozen=True, slots=True)
class Factor:
    """An operand of a product. `read` returns its element at an index, 0 where the guard is false; it reads `reads`."""

    read: Element
    reads: tuple[Tensor | None, ...]


def factor(t: Tensor) -> Factor:
    """The elements of `t` as they are."""
    return Factor(lambda index, guard: t.read(list(index), guard), (t,))


def zero_point(call: Call, index: int) -> Tensor | None:
    """Input `index`, None where it is absent or known to be zero."""
    return unless_zero(call.optional(index))


def unless_zero(t: Tensor | None) -> Tensor | None:
    """None for a tensor that is known to be zero, too."""
    return None if t is None or (t.data is not None and not t.data.any()) else t


def less_zero_point(name: str, t: Tensor, zero: Tensor | None, place: ZeroPointAt) -> Factor:
    """int32(t) - zero. Constants stay bytes, which products widen as they read them. Others become a tensor `name`,
    which is stored where elements are read repeatedly: the products then convert nothing, and padding is zeros."""

    def value(index: Sequence[Expr], guard: Expr | None) -> Expr:
        wide = t.read(list(index), guard).cast(I32)
        if zero is None:
            return wide
        centred = wide - place(index, zero).cast(I32)
        return centred if guard is None else select(guard, centred, 0)

    if t.data is not None:
        return Factor(value, (t, zero))
    stored = compute(name, t.shape, (t, zero), lambda *index: value(index, None))
    return factor(stored)
