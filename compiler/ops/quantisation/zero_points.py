"""Operands of integer products: 8-bit tensors less their zero points."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...dtypes import I8, I16, I32
from ...ir.nodes import Buffer, Expr
from ...tensor import Tensor, compute
from ...tensor.evaluate import evaluate
from ...tensor.fold_tensor import fold
from ..call import Call

SHORT = (I8, I16)
"""Types of operands that products widen as they read them."""

ZeroPointAt = Callable[[Sequence[Expr], Tensor], Expr]
"""The element of a zero point for the operand's element at an index."""


def zero_point(call: Call, index: int) -> Tensor | None:
    """Input `index`, None where it is absent or known to be zero."""
    return unless_zero(call.optional(index))


def unless_zero(t: Tensor | None) -> Tensor | None:
    """None for a tensor that is known to be zero, too."""
    return None if t is None or (t.data is not None and not t.data.any()) else t


def less_zero_point(name: str, t: Tensor, zero: Tensor | None, place: ZeroPointAt) -> Tensor:
    """`t`, of 8 bits, less its zero point: int16, of which processors multiply pairs in one instruction. Constants are
    int8 where that holds them; where it does not, they ship as they are, and are widened when the model is loaded."""
    if zero is None and (t.dtype == I16 or (t.data is not None and t.dtype == I8)):
        return t

    def value(*index: Expr) -> Expr:
        wide = t.read(index).cast(I16)
        return wide if zero is None else wide - place(index, zero).cast(I16)

    return narrowed(compute(name, t.shape, (t, zero), value))


def narrowed(t: Tensor) -> Tensor:
    """The int16 `t`; of constants the elements, as int8 where that holds them."""
    if not t.depends_only_on_constants:
        return t
    data = evaluate(t)
    narrow = data.astype(I8.numpy)
    if not (narrow == data).all():
        return fold(t, data)
    assert t.body is not None
    return fold(Tensor(Buffer(t.name, t.extents, I8), t.axes, t.body.cast(I8), t.reads), narrow)


def factor(element: Expr) -> Expr:
    """An element of an operand in the type in which its products are added."""
    return element.cast(I32) if element.dtype in SHORT else element
