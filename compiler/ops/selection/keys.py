"""Lines of elements that are sorted by keys, and the orders that result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...ir.construct import maximum, minimum
from ...ir.nodes import Const, Expr, ExprLike
from ...ir.sizes import Size, number
from ...tensor import Tensor


def within(index: ExprLike, n: Size) -> Expr:
    """The nearest index of a dimension of `n`; 0 where it has none."""
    return maximum(minimum(index if isinstance(index, Expr) else Const(index), number(n) - 1), 0)


@dataclass(frozen=True, slots=True)
class Order:
    """The indices of the elements of lines in an order: `rows` has a row for each place, or a column. A row may have
    `copies` of each index."""

    rows: Tensor
    by_place: bool
    copies: bool = False

    def at(self, line: Sequence[Expr], place: Expr) -> Expr:
        """The index of the element at a place."""
        if not self.by_place:
            return self.rows.read((*line, place))
        return self.rows.read((place, *line, *((Const(0),) if self.copies else ())))


@dataclass(frozen=True, slots=True)
class Keys:
    """Lines of `n` elements each, in the order of `of(line, index)`, a `sort_key`: falling where `largest`, else
    rising; elements of equal keys in the order of their indices. `reads` are the tensors that it reads."""

    lines: tuple[Size, ...]
    n: Size
    of: Callable[[Sequence[Expr], Expr], Expr]
    reads: tuple[Tensor, ...]
    largest: bool

    def before(self, line: Sequence[Expr], a: Expr, b: Expr) -> Expr:
        """Whether the element `a` comes before `b`."""
        x, y = (self.of(line, within(i, self.n)) for i in (a, b))
        greater, less = y < x, x < y
        first, second = (greater, less) if self.largest else (less, greater)
        return first | ~second & (a < b)
