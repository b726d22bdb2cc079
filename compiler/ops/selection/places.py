"""The places of what is true, in order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...dtypes import I32
from ...ir.construct import select
from ...ir.nodes import Const, Expr, Scalar
from ...ir.sizes import Size, capacity, number
from ...tensor import Tensor, compute, constant
from ...tensor.computed_sizes import computed_size
from ...tensor.structure import loop
from ..reductions.running import running
from .keys import within


def count_of(name: str, sums: Tensor) -> Scalar:
    """The last of an int32 vector's running counts, as a size: at most as many as there are elements."""
    n = sums.shape[0]
    last = compute(f"{name}.count", (1,), (sums,), lambda _: sums.read((within(number(n) - 1, n),), Const(0) < n, 0))
    return computed_size(f"{name}.count", capacity(n) + 1, last)


def places(name: str, sums: Tensor, count: Size) -> Tensor:
    """Where the k-th true element of each line is, for each of so many: `sums`, [..., n], are the running counts. By
    halving (binary search), all of them at once."""
    *lines, n = sums.shape
    steps = capacity(n).bit_length()
    lengths = constant(f"{name}.steps", np.array([1 << s for s in reversed(range(steps))] or [0], np.int32))
    start = compute(f"{name}.first", (*lines, count), (), lambda *_: Const(0))

    def narrow(t: Scalar, carried: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        (positions,) = carried

        def body(*at: Expr) -> Expr:
            *line, k = at
            further = positions.read(at) + lengths.read((t,))
            passed = sums.read((*line, within(further - 1, n))) <= k
            return select((further <= n) & passed, further, positions.read(at))

        return [compute(f"{name}.places", positions.shape, (sums, positions, lengths), body)], []

    (result,), _ = loop(name, steps, [start], narrow)
    return result


def chosen(name: str, mask: Tensor) -> tuple[Scalar, Tensor]:
    """How many elements of a bool vector are true, and where they are, in order: int32."""
    ones = compute(f"{name}.ones", mask.shape, (mask,), lambda i: mask.read((i,)).cast(I32))
    sums = running(f"{name}.sums", "sum", ones, 0)
    count = count_of(name, sums)
    return count, places(f"{name}.places", sums, count)
