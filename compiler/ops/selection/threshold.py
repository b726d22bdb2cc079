"""The keys of a line from a threshold on are enough: the largest such threshold.

It is found by halving the range of keys: exact for any number of keys, in as many passes as a key has bits, each of
which adds up in vectors.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...dtypes import lowest
from ...ir.construct import select
from ...ir.nodes import Const, Expr, Scalar
from ...tensor import Tensor, compute, constant, reduce
from ...tensor.structure import loop

TOGETHER = 4
"""Halvings of an iteration, after which what is carried is copied."""


def threshold(name: str, keys: Tensor, weights: Tensor | None, wanted: Expr, reads: tuple[Tensor, ...] = ()) -> Tensor:
    """Of each line of integers, [..., n], the largest integer of which the keys that are as large have `wanted` weights
    in sum, 1 for each without `weights`: [...], of a single line [1]. It is the least integer where all of the line
    have less. `wanted` is computed of `reads`."""
    *lines, n = keys.shape
    dtype = keys.dtype
    powers = np.array([1 << bit for bit in reversed(range(dtype.bits))], np.uint64).astype(dtype.numpy)
    halves = constant(f"{name}.halves", powers.reshape(-1, TOGETHER))
    shape = tuple(lines) or (1,)
    start = compute(f"{name}.start", shape, (), lambda *_: Const(lowest(dtype), dtype))
    weighed = (keys,) if weights is None else (keys, weights)

    def halve(least: Tensor, half: Expr) -> Tensor:
        def mass(*at: Expr) -> Expr:
            line = at if lines else ()
            bound = least.read(at) + half

            def weight(i: Expr) -> Expr:
                one: Expr | int = 1 if weights is None else weights.read((*line, i))
                return select(keys.read((*line, i)) >= bound, one, 0)

            return reduce("sum", (n,), weight)

        masses = compute(f"{name}.mass", shape, (least, halves, *weighed), mass)

        def next_least(*at: Expr) -> Expr:
            return least.read(at) + select(masses.read(at) >= wanted, half, 0)

        return compute(f"{name}.least", shape, (least, masses, halves, *reads), next_least)

    def some(t: Scalar, carried: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        (least,) = carried
        for i in range(TOGETHER):
            least = halve(least, halves[t, i])
        return [least], []

    (result,), _ = loop(name, dtype.bits // TOGETHER, [start], some)
    return result
