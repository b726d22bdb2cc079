"""Running sums and products: each element is a reduction over those up to it."""

from __future__ import annotations

from collections.abc import Callable

from ..ir.nodes import Expr
from ..tensor import Tensor, compute, reduce
from .axes import one_axis
from .call import Call


def _running(op: str, neutral: int) -> Callable[[Call], Tensor]:
    """With exclusive=1 the element itself is left out; with reverse=1 it runs from the end."""

    def operator(call: Call) -> Tensor:
        t = call.input(0)
        axis = one_axis(call, (call.ints(1, "axis") or (0,))[0], t.rank)
        exclusive, reverse = call.checked_flag("exclusive"), call.checked_flag("reverse")

        def body(*axes: Expr) -> Expr:
            here = axes[axis]

            def element(other: Expr) -> Expr:
                first, second = (here, other) if reverse else (other, here)
                counted = first < second if exclusive else first <= second
                return t.read([other if d == axis else a for d, a in enumerate(axes)], counted, neutral)

            return reduce(op, (t.shape[axis],), element)

        return compute(call.name, t.shape, (t,), body)

    return operator


OPERATORS = {
    "CumProd": _running("prod", 1),
    "CumSum": _running("sum", 0),
}
