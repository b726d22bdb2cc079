"""NumPy-style broadcasting: what element-wise operators of several inputs share."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..ir.nodes import Const, Expr
from ..ir.sizes import Size, equal, is_one, shown, text_of
from ..tensor import Tensor, compute
from .call import Call, SizesDifferError
from .equal_sizes import advice_for

MOST_OPERANDS = 64
"""Operands of one expression. An operator that has more combines them in parts: an expression is as deep as it has
operands, walks over it recurse, and a kernel has a parameter for each."""


def broadcast_shape(call: Call, shapes: Sequence[Sequence[Size]]) -> tuple[Size, ...]:
    """The common shape of `shapes`, aligned at the right. Only an extent that is always 1 is broadcast.

    Raises UnsupportedError where they do not fit, or where that differs from run to run.
    """
    rank = max((len(s) for s in shapes), default=0)
    result: list[Size] = [1] * rank
    for shape in shapes:
        for d, extent in enumerate(shape, rank - len(shape)):
            if is_one(extent):
                continue
            same = is_one(result[d]) or equal(result[d], extent)
            if not same:
                raise _do_not_broadcast(call, shapes, result[d], extent, differ=same is not None)
            result[d] = extent
    return tuple(result)


def _do_not_broadcast(call: Call, shapes: Sequence[Sequence[Size]], a: Size, b: Size, *, differ: bool) -> Exception:
    listed = " and ".join(shown(s) for s in shapes)
    if differ:
        return call.unsupported(f"shapes {listed} do not broadcast", "check the shapes given to the model")
    reason = f"shapes {listed} broadcast only where {text_of(a)} and {text_of(b)} are equal, which is not known"
    return SizesDifferError(str(call.unsupported(reason, advice_for([(a, b)]))), (a, b))


def broadcast_element(t: Tensor, axes: Sequence[Expr]) -> Expr:
    """The element of `t` that broadcasting puts at `axes`: dimensions of extent 1 are read at 0, and a known scalar is
    part of the expression."""
    if t.data is not None and t.data.size == 1:
        return Const(t.data.item(), t.dtype)
    own = axes[len(axes) - t.rank :]
    return t.read([Const(0) if is_one(extent) else axis for extent, axis in zip(t.shape, own, strict=True)])


def spread_input(call: Call, index: int, shape: tuple[Size, ...]) -> Tensor | None:
    """Optional input `index`, which broadcasts to just `shape`. Raises UnsupportedError where it does not."""
    t = call.optional(index)
    if t is not None and (t.rank > len(shape) or broadcast_shape(call, [t.shape, shape]) != shape):
        raise call.unsupported(
            f"input {index} ({t.name!r}) has shape {shown(t.shape)}, which does not broadcast to {shown(shape)}",
            "the model is invalid: export it again",
        )
    return t


def scalar_element(call: Call, index: int, what: str) -> Expr | None:
    """The only element of input `index`; None where it is absent. Raises UnsupportedError where it has several."""
    t = call.optional(index)
    if t is None:
        return None
    if t.buffer.size != 1:
        raise call.unsupported(f"its input '{what}' has shape {shown(t.shape)}, not one element", "give it as a scalar")
    return broadcast_element(t, [Const(0)] * t.rank)


def pointwise(call: Call, fn: Callable[..., Expr], *tensors: Tensor) -> Tensor:
    """The tensor whose elements are `fn` of an element of each tensor; their shapes are broadcast as ONNX does, and the
    dtype is that of the expression. Raises UnsupportedError for shapes that do not broadcast, TypeError for operands
    that are no tensors."""
    for t in tensors:
        if not isinstance(t, Tensor):
            raise TypeError(f"an operand is a {type(t).__name__}: an array of NumPy becomes a tensor by constant()")
    return _pointwise(call, call.name, fn, tensors)


def _pointwise(call: Call, name: str, fn: Callable[..., Expr], tensors: tuple[Tensor, ...]) -> Tensor:
    shape = broadcast_shape(call, [t.shape for t in tensors])
    return compute(name, shape, tensors, lambda *axes: fn(*(broadcast_element(t, axes) for t in tensors)))


def fold_operands(
    call: Call,
    tensors: Sequence[Tensor],
    combine: Callable[[Expr, Expr, Tensor], Expr],
    finish: Callable[[Expr], Expr] = lambda total: total,
) -> Tensor:
    """The elements of `tensors`, broadcast together, combined from left to right: `combine(so far, element, of which
    tensor)`, and `finish` of the last."""
    head, *rest = tensors
    parts = [rest[i : i + MOST_OPERANDS] for i in range(0, len(rest), MOST_OPERANDS)] or [[]]
    for i, part in enumerate(parts):
        last = i == len(parts) - 1
        name = call.name if last else f"{call.name}.part{i}"

        def body(first: Expr, *elements: Expr, part: Sequence[Tensor] = part, last: bool = last) -> Expr:
            for x, t in zip(elements, part, strict=True):
                first = combine(first, x, t)
            return finish(first) if last else first

        head = _pointwise(call, name, body, (head, *part))
    return head


def unary_operator(fn: Callable[[Expr], Expr]) -> Callable[[Call], Tensor]:
    """The operator that applies `fn` to each element."""
    return lambda call: pointwise(call, fn, call.input(0))


def binary_operator(fn: Callable[[Expr, Expr], Expr]) -> Callable[[Call], Tensor]:
    """The operator that applies `fn` to two inputs, broadcast together."""
    return lambda call: pointwise(call, fn, call.input(0), call.input(1))
