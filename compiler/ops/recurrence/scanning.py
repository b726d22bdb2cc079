"""Running sums and products along an axis."""

from __future__ import annotations

from collections.abc import Callable

from ...ir.construct import select
from ...ir.nodes import Const, Expr
from ...tensor import Tensor, compute
from ..axes import one_axis
from ..call import Call
from ..movement.gather import to_int32
from ..reductions.running import running


def _running(op: str) -> Callable[[Call], Tensor]:
    """With exclusive=1 the element itself is left out; with reverse=1 it runs from the end."""

    def operator(call: Call) -> Tensor:
        t = call.input(0)
        exclusive, reverse = call.checked_flag("exclusive"), call.checked_flag("reverse")

        def along(name: str, axis: int) -> Tensor:
            return running(name, op, t, axis, exclusive=exclusive, reverse=reverse)

        axis_input = call.input(1)
        if axis_input.data is not None:
            return along(call.name, one_axis(call, (call.ints(1, "axis") or (0,))[0], t.rank))
        # The axis is computed at run time: of the results along every axis one is selected.
        every = [along(f"{call.name}.axis{d}", d) for d in range(t.rank)]

        def chosen(*at: Expr) -> Expr:
            axis = to_int32(axis_input.read((Const(0),) * axis_input.rank))
            result = every[-1].read(at)
            for d in reversed(range(t.rank - 1)):
                result = select(axis.eq(d) | axis.eq(d - t.rank), every[d].read(at), result)
            return result

        if not every:
            raise call.unsupported("it has no axis to sum along", "the model is invalid")
        axis = to_int32(axis_input.read((Const(0),) * axis_input.rank))
        call.refuse_where(
            (axis < -t.rank) | (axis >= t.rank), (axis_input,), f"this run computes an axis that is none of {t.rank}"
        )
        return compute(call.name, t.shape, (axis_input, *every), chosen)

    return operator


OPERATORS = {
    "CumProd": _running("prod"),
    "CumSum": _running("sum"),
}
