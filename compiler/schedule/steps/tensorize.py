"""tensorize: a nest of loops becomes one instruction of the target."""

from __future__ import annotations

from ...errors import ScheduleError
from ...ir.intrinsic import Intrinsic, Tensorized, bind
from ...ir.nodes import For, Stmt, Var
from .loops import on_loops


def tensorize(stmt: Stmt, var: Var, intrinsic: Intrinsic) -> Stmt:
    """for k < 8 reduce: for i < 8: for j < 8: acc[i, j] = acc[i, j] + x[8*io + i, k] * w[k, j]
    ->  multiply: for k < 8 ...                     (an instruction on the tiles acc, x and w)

    `var` is the outermost loop of the nest, which must do what the intrinsic does, on operands of contiguous rows.
    """

    def change(loop: For) -> Stmt:
        if bind(intrinsic, loop) is None:
            raise ScheduleError(f"tensorize: the loops from {var} on do not do what {intrinsic.name} does")
        return Tensorized(intrinsic, loop)

    return on_loops(stmt, var, change)
