"""Functions of 8 bits as tables, which `graph/tabulate_quanta` makes."""

from __future__ import annotations

from ...dtypes import I8, I32, U8, lowest
from ...tensor import Tensor, compute
from ..call import Call


def _look_up(call: Call) -> Tensor:
    """The element of the table, input 1, for each element of x; that of the lowest comes first."""
    call.check_dtypes((0,), I8, U8)
    x, table = call.input(0), call.input(1, (256,))
    first = int(lowest(x.dtype))

    return compute(call.name, x.shape, (x, table), lambda *i: table[x.read(i).cast(I32) - first])


OPERATORS = {"LookUp": _look_up}
