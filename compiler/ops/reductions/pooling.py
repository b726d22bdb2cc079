"""Pooling: a reduction over the taps of a window, or over all spatial axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ...dtypes import I64, lowest
from ...ir.construct import select
from ...ir.nodes import Const, Expr
from ...ir.sizes import Size, larger, product, reciprocal, size
from ...tensor import Tensor, compute, constant
from ..call import Call
from ..unravel import unravel
from ..window import Window, guard_of, per_axis, scaled, windows_of
from .norm import norm_order, norm_root, norm_term
from .reduce_axes import attains, reduce_axes, reduce_over


def max_pool(call: Call) -> Tensor | tuple[Tensor, ...]:
    """ONNX MaxPool; NaN where a window has one. A second output is the flat index of each maximum, the first of equal
    ones, or of the first NaN."""
    x = call.input(0)
    windows = _windows(call, x)
    least = lowest(x.dtype)
    best = _pool(call.name, "max_nan", x, windows, lambda index, guard: x.read(index, guard, otherwise=least))
    return best if call.outputs < 2 else (best, _max_index(call, x, windows, best))


def _max_index(call: Call, x: Tensor, windows: Sequence[Window], best: Tensor) -> Tensor:
    """The least row-major index in the whole input at which a window has its maximum, in the order of storage_order."""
    _, channels, *sizes = x.shape
    area = product(sizes)
    outside = larger(size(area - 1), 0)

    def body(n: Expr, c: Expr, *o: Expr) -> Expr:
        def place(*k: Expr) -> Expr:
            guard = guard_of(windows, o, k)
            position = [window.at(i, j) for window, i, j in zip(windows, o, k, strict=True)]
            is_maximum = attains(x.read([n, c, *position], guard), best[n, c, *o])
            return select(is_maximum if guard is None else guard & is_maximum, _flatten(position, sizes), outside)

        return reduce_over("min", [window.kernel for window in windows], place)

    places = compute(f"{call.name}.place", best.shape, (x, best), body)

    column_major = call.checked_flag("storage_order")

    def whole(n: Expr, c: Expr, *o: Expr) -> Expr:
        index = places[n, c, *o]
        if column_major and len(sizes) > 1:
            index = _flatten(unravel(index, sizes)[::-1], sizes[::-1])
        return (scaled(scaled(n, channels) + c, area) + index).cast(I64)

    return compute(f"{call.name}.indices", best.shape, (places,), whole)


def _flatten(index: Sequence[Expr], sizes: Sequence[Size]) -> Expr:
    flat = index[0]
    for i, extent in zip(index[1:], sizes[1:], strict=True):
        flat = scaled(flat, extent) + i
    return flat


def average_pool(call: Call) -> Tensor:
    """ONNX AveragePool, over the elements within the input, or with count_include_pad within the padding too."""
    x = call.input(0)
    windows = _windows(call, x)
    total = _pool(f"{call.name}.sum", "sum", x, windows, lambda index, guard: x.read(index, guard))
    padded = call.attribute("count_include_pad", 0) != 0
    if any(not isinstance(w.size, int) for w in windows):
        return _average_of_varying(call, x, total, windows, padded=padded)
    counts = [
        np.array([w.valid_taps(o, padded) for o in range(call.fixed_size(w.count, "of its result"))], np.float32)
        for w in windows
    ]
    if all(np.all(c == c[:1]) for c in counts):
        area = math.prod(float(c[0]) for c in counts if c.size)
        return total if area == 1 else compute(call.name, total.shape, (total,), lambda *i: total[i] / area)
    area_at = constant(f"{call.name}.area", np.asarray(_outer(counts), x.dtype.numpy))
    return compute(call.name, total.shape, (total, area_at), lambda n, c, *o: total[n, c, *o] / area_at[o])


def _average_of_varying(call: Call, x: Tensor, total: Tensor, windows: Sequence[Window], *, padded: bool) -> Tensor:
    """The sums divided by the numbers of taps, which are computed where a size is known at run time only."""

    def body(n: Expr, c: Expr, *o: Expr) -> Expr:
        count: Expr = Const(1)
        for window, position in zip(windows, o, strict=True):
            count = count * window.count_taps(position, padded)
        return total[n, c, *o] / count.cast(x.dtype)

    return compute(call.name, total.shape, (total,), body)


def _outer(vectors: Sequence[np.ndarray]) -> np.ndarray:
    result = np.ones((), np.float32)
    for v in vectors:
        result = np.multiply.outer(result, v)
    return result


def lp_pool(call: Call) -> Tensor:
    """ONNX LpPool: the p-norm of each window, p >= 1; padding counts as zero."""
    x, p = call.input(0), norm_order(call)
    total = _pool(
        f"{call.name}.sum", "sum", x, _windows(call, x), lambda index, guard: norm_term(x.read(index, guard), p)
    )
    return compute(call.name, total.shape, (total,), lambda *i: norm_root(total[i], p))


def global_max_pool(call: Call) -> Tensor:
    """ONNX GlobalMaxPool: over all spatial axes; NaN where there is one."""
    x = call.input(0)
    return reduce_axes(call.name, "max_nan", x.shape, _spatial(x), (x,), lambda *i: x[i], keepdims=True)


def global_average_pool(call: Call) -> Tensor:
    """ONNX GlobalAveragePool: over all spatial axes."""
    x = call.input(0)
    total = reduce_axes(f"{call.name}.sum", "sum", x.shape, _spatial(x), (x,), lambda *i: x[i], keepdims=True)
    share = reciprocal(product(x.shape[2:]), x.dtype)
    return (
        total
        if not isinstance(share, Expr) and share == 1
        else compute(call.name, total.shape, (total,), lambda *i: total[i] * share)
    )


def global_lp_pool(call: Call) -> Tensor:
    """ONNX GlobalLpPool: the p-norm over all spatial axes."""
    x, p = call.input(0), norm_order(call)
    total = reduce_axes(
        f"{call.name}.sum", "sum", x.shape, _spatial(x), (x,), lambda *i: norm_term(x[i], p), keepdims=True
    )
    return compute(call.name, total.shape, (total,), lambda *i: norm_root(total[i], p))


def _spatial(x: Tensor) -> tuple[int, ...]:
    return tuple(range(2, x.rank))


def _windows(call: Call, x: Tensor) -> tuple[Window, ...]:
    return windows_of(call, x.shape[2:], per_axis(call, "kernel_shape", (1,) * (x.rank - 2)), partial=True)


def _pool(
    name: str,
    op: str,
    x: Tensor,
    windows: Sequence[Window],
    element: Callable[[list[Expr], Expr | None], Expr],
) -> Tensor:
    """`op` over the taps of each window, per image and channel."""

    def body(n: Expr, c: Expr, *o: Expr) -> Expr:
        def tap(*k: Expr) -> Expr:
            position = [window.at(i, j) for window, i, j in zip(windows, o, k, strict=True)]
            return element([n, c, *position], guard_of(windows, o, k))

        return reduce_over(op, [window.kernel for window in windows], tap)

    return compute(name, (*x.shape[:2], *(window.count for window in windows)), (x,), body)


OPERATORS: dict[str, Callable[[Call], Tensor | tuple[Tensor, ...]]] = {
    "AveragePool": average_pool,
    "GlobalAveragePool": global_average_pool,
    "GlobalLpPool": global_lp_pool,
    "GlobalMaxPool": global_max_pool,
    "LpPool": lp_pool,
    "MaxPool": max_pool,
}
