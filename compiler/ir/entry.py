"""An element of a small matrix of numbers that is known at build."""

from __future__ import annotations

from ..dtypes import F32, DType
from .frozen import frozen
from .nodes import Expr


@frozen
class Entry(Expr):
    """matrix[row, column], for `row` and `column` in range; the matrix has numbers of float32, row by row. Schedules
    unroll its loops, or replace it by selections (`schedule/expand_entries`): nothing after them contains one."""

    matrix: tuple[tuple[float, ...], ...]
    row: Expr
    column: Expr

    @property
    def dtype(self) -> DType:
        return F32
