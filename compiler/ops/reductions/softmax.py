"""Softmax, LogSoftmax and Hardmax. Before opset 13 they work on all axes from `axis` on, as one."""

from __future__ import annotations

from ...ir.construct import maximum, select, unary
from ...ir.nodes import Expr
from ...ir.sizes import larger, product
from ...tensor import Tensor, compute
from ..axes import one_axis
from ..call import Call
from ..unravel import ravel
from .reduce_axes import attains, reduce_axes, without


def softmax(call: Call) -> Tensor:
    """ONNX Softmax; NaN where all elements are minus infinity."""
    x, axes = call.input(0), _axes(call)
    if _is_alone(x, axes):
        return compute(call.name, x.shape, (x,), lambda *i: x[i] - x[i] + 1)
    return softmax_of(call.name, x, axes)


def _is_alone(x: Tensor, axes: tuple[int, ...]) -> bool:
    """Whether it is of one element each: then the difference from the highest is 0, or NaN of what is not finite."""
    return product(x.shape[d] for d in axes) == 1


def softmax_of(
    name: str, x: Tensor, axes: tuple[int, ...], *, zero_of_nothing: bool = False, sink: Tensor | None = None
) -> Tensor:
    """exp(x - max) / sum(exp(x - max)) along `axes`. Both read the same exponentials: to compute them again takes
    longer. With `zero_of_nothing` zeros where all elements are minus infinity, as attention has it. A `sink` is one
    element more of each line, in the shape without `axes`, which takes its share and has no place in the result."""
    highest = _highest(name, x, axes)
    if sink is not None:
        highest = _larger(f"{name}.highest", highest, sink)

    def shift(*own: Expr) -> Expr:
        own_highest = highest[own]
        return select(own_highest.eq(float("-inf")), 0, own_highest) if zero_of_nothing else own_highest

    def inverted(*own: Expr) -> Expr:
        own_total = total[own]
        if sink is not None:
            own_total = own_total + unary("exp", sink[own] - shift(*own))
        return 1 / (select(own_total.eq(0), 1, own_total) if zero_of_nothing else own_total)

    power = compute(f"{name}.exp", x.shape, (x, highest), lambda *i: unary("exp", x[i] - shift(*without(i, axes))))
    total = reduce_axes(f"{name}.sum", "sum", x.shape, axes, (power,), lambda *i: power[i])
    reads = (total,) if sink is None else (total, sink, highest)
    inverse = compute(f"{name}.inverse", total.shape, reads, inverted)
    return compute(name, x.shape, (power, inverse), lambda *i: power[i] * inverse[without(i, axes)])


def _larger(name: str, a: Tensor, b: Tensor) -> Tensor:
    """The larger of the elements of two tensors of one shape."""
    return compute(name, a.shape, (a, b), lambda *i: maximum(a[i], b[i]))


def log_softmax(call: Call) -> Tensor:
    """x - max - log(sum(exp(x - max)))."""
    x, axes = call.input(0), _axes(call)
    if _is_alone(x, axes):
        return compute(call.name, x.shape, (x,), lambda *i: x[i] - x[i])
    highest = _highest(call.name, x, axes)

    def power(*i: Expr) -> Expr:
        return unary("exp", x[i] - highest[without(i, axes)])

    total = reduce_axes(f"{call.name}.sum", "sum", x.shape, axes, (x, highest), power)
    log_total = compute(f"{call.name}.log", total.shape, (total,), lambda *i: unary("log", total[i]))

    def body(*i: Expr) -> Expr:
        own = without(i, axes)
        return x[i] - highest[own] - log_total[own]

    return compute(call.name, x.shape, (x, highest, log_total), body)


def hardmax(call: Call) -> Tensor:
    """1 at the first maximum, or at the first NaN; 0 elsewhere."""
    x, axes = call.input(0), _axes(call)
    highest = reduce_axes(f"{call.name}.max", "max_nan", x.shape, axes, (x,), lambda *i: x[i])
    size = product(x.shape[d] for d in axes)

    def flat(i: tuple[Expr, ...]) -> Expr:
        return ravel([i[d] for d in axes], [x.shape[d] for d in axes])

    def place(*i: Expr) -> Expr:
        return select(attains(x[i], highest[without(i, axes)]), flat(i), larger(size - 1, 0))

    first = reduce_axes(f"{call.name}.place", "min", x.shape, axes, (x, highest), place)
    return compute(call.name, x.shape, (first,), lambda *i: flat(i).eq(first[without(i, axes)]).cast(x.dtype))


def _highest(name: str, x: Tensor, axes: tuple[int, ...]) -> Tensor:
    """The maximum, which may pass over a NaN: its exponential makes the sum, and so every result, NaN."""
    return reduce_axes(f"{name}.max", "max", x.shape, axes, (x,), lambda *i: x[i])


def _axes(call: Call) -> tuple[int, ...]:
    x = call.input(0)
    axis = one_axis(call, call.attribute("axis", -1 if call.opset >= 13 else 1), x.rank)
    return (axis,) if call.opset >= 13 else tuple(range(axis, x.rank))


OPERATORS = {"Hardmax": hardmax, "LogSoftmax": log_softmax, "Softmax": softmax}
