"""Caches of GroupQueryAttention that forget what is outside of a window (`sliding_window_cache`), by the rule of its
documentation: rows follow each other from the first one on, and many are dropped at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...ir.construct import maximum, minimum, select
from ...ir.nodes import Expr
from ...ir.sizes import number
from ...tensor import Tensor, compute
from ..movement.joining import joined


@dataclass(frozen=True, slots=True)
class WindowCache:
    """`room` rows, of which the newest `window` tokens are always there. A sequence has `begin(batch)` tokens before a
    run, and the last one after it has the number `last(batch)`, which are computed from `reads`."""

    room: int
    window: int
    begin: Callable[[Expr], Expr]
    last: Callable[[Expr], Expr]
    reads: tuple[Tensor, ...]

    def rows(self, tokens: Expr) -> Expr:
        """The rows in use after so many tokens: all of them, or as many less as are dropped at once."""
        at_once = self.room - self.window + 1
        dropped = maximum(tokens - self.room + (at_once - 1), 0) // at_once * at_once
        return tokens - dropped

    def position(self, b: Expr, j: Expr) -> Expr:
        """The position of row j of what a run attends to: the past, and what is new behind its `room` rows."""
        begin = self.begin(b)
        return begin + j - select(j < self.room, self.rows(begin), self.room)

    def is_there(self, b: Expr, j: Expr) -> Expr:
        """Whether row j is in use."""
        return (j >= self.room) | (j < self.rows(self.begin(b)))

    def written(self, name: str, past: Tensor, new: Tensor) -> tuple[Tensor, Tensor]:
        """The cache after the run; and the past with what is new behind it, which the run attends to."""
        every = joined(f"{name}.every", [past, new], 2)

        def body(b: Expr, h: Expr, j: Expr, d: Expr) -> Expr:
            begin, tokens = self.begin(b), self.last(b) + 1
            behind = tokens - self.rows(tokens) + j - begin  # how far behind the end of the past
            row = behind + select(behind < 0, self.rows(begin), self.room)
            return every[b, h, maximum(minimum(row, number(every.shape[2]) - 1), 0), d]

        return compute(name, past.shape, (every, *self.reads), body), every
