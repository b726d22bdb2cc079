"""The largest keys of a line are those from a threshold on.

It is found by halving the range of keys: exact for any number of keys, in as many passes as a key has bits, each of
which counts in vectors. That of a vocabulary (`tokens.py`) is found by digits of four bits: fewer launches, and four
times the comparisons.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...dtypes import lowest
from ...ir.construct import select
from ...ir.nodes import Const, Expr, Scalar
from ...ir.sizes import Size, number
from ...tensor import Tensor, compute, constant, reduce
from ...tensor.structure import loop

TOGETHER = 4
"""Halvings of an iteration, after which what is carried is copied."""


def threshold(name: str, keys: Tensor, count: Size) -> Tensor:
    """The largest integer of which at least `count` keys are as large, of each line of integers, [..., n]: [...], of a
    single line [1]."""
    *lines, n = keys.shape
    dtype = keys.dtype
    powers = np.array([1 << bit for bit in reversed(range(dtype.bits))], np.uint64).astype(dtype.numpy)
    halves = constant(f"{name}.halves", powers.reshape(-1, TOGETHER))
    shape = tuple(lines) or (1,)
    start = compute(f"{name}.start", shape, (), lambda *_: Const(lowest(dtype), dtype))

    def halve(least: Tensor, half: Expr) -> Tensor:
        def as_large(*at: Expr) -> Expr:
            bound = least.read(at) + half
            line = at if lines else ()
            return reduce("sum", (n,), lambda i: select(keys.read((*line, i)) >= bound, 1, 0))

        counts = compute(f"{name}.count", shape, (least, halves, keys), as_large)

        def next_least(*at: Expr) -> Expr:
            return least.read(at) + select(counts.read(at) >= number(count), half, 0)

        return compute(f"{name}.least", shape, (least, counts, halves), next_least)

    def some(t: Scalar, carried: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        (least,) = carried
        for i in range(TOGETHER):
            least = halve(least, halves[t, i])
        return [least], []

    (result,), _ = loop(name, dtype.bits // TOGETHER, [start], some)
    return result
