"""The order of lines of elements, in the way that costs least.

| way | costs mostly, for the first k of n elements | kernels launched |
| --- | --- | --- |
| pick: one after the other | 2 k n | 3 k |
| rank: how many come before each | n (n + k) / 2 | 3 |
| select those from a threshold on, then order these | 24 n | 70 |
| sort all by a network | 14 n (log n)^2, since each step gathers | (log n)^2 / 2 |

The unit is an element that a reduction visits in vectors: 0.17 ns on a Zen 4 with 16 lanes, 0.7 ns with 4. It takes a
sort of all of 8,400 elements 14 ms, their first 300 by a selection 0.05 ms.
"""

from __future__ import annotations

from ...ir.sizes import Size, capacity, product
from .keys import Keys, Order
from .sorting import pick, rank, select_first, sort

MOST_SORTED = 1 << 30
"""Elements of a line that can be sorted: a block of the network is up to twice as long, and its length an int32."""

LAUNCH = 200
"""The cost of a launch: that of a processor and of a wait in between. A GPU visits thousands of elements meanwhile."""

REDUCTION = 48
"""The cost of a reduction besides its elements."""

GATHERED = 28
"""The cost of an element in a step of the network."""

SELECTED, SELECTION = 24, 70
"""The cost of an element of a selection, and its launches."""


def first_in_order(name: str, keys: Keys, count: Size) -> Order:
    """The first `count` elements of each line."""
    lines, n, k = capacity(product(keys.lines)), capacity(keys.n), capacity(count)
    picks = k * (lines * 2 * (n + REDUCTION) + 3 * LAUNCH)
    selects = lines * n * SELECTED + SELECTION * LAUNCH + _cost(lines, k, k)
    if picks <= min(selects, _cost(lines, n, k)):
        return pick(name, keys, count)
    if selects < _cost(lines, n, k):
        return select_first(name, keys, count, sorted_order)
    return _whole(name, keys, count)


def sorted_order(name: str, keys: Keys) -> Order:
    """All elements of each line; in a row there may be indices beyond the end behind them."""
    return _whole(name, keys, keys.n)


def _whole(name: str, keys: Keys, count: Size) -> Order:
    lines, n, k = capacity(product(keys.lines)), capacity(keys.n), capacity(count)
    return rank(name, keys, count) if _ranks(lines, n, k) <= _sorts(lines, n) else sort(name, keys)


def _cost(lines: int, n: int, k: int) -> int:
    return min(_ranks(lines, n, k), _sorts(lines, n))


def _ranks(lines: int, n: int, k: int) -> int:
    return lines * n * (n + k) // 2 + 3 * LAUNCH


def _sorts(lines: int, n: int) -> int:
    depth = max(n - 1, 0).bit_length()
    return depth * (depth + 1) // 2 * (lines * GATHERED * (1 << depth) + LAUNCH)
