"""MaxRoiPool: boxes of an image, each pooled to a grid of the same size, by the pixels that touch its cells."""

from __future__ import annotations

from collections.abc import Callable

from ...dtypes import I32
from ...ir.construct import all_of, maximum, minimum, select, unary
from ...ir.nodes import Const, Expr
from ...ir.reduction import neutral
from ...ir.sizes import number, shown
from ...tensor import Tensor, compute
from ..call import Call
from ..movement.gather import to_int32
from ..reductions.reduce_axes import reduce_axes

_FARTHEST = 1 << 20
"""Pixels from the origin beyond which a box ends nowhere."""

_MOST_CELLS = 1000
"""Cells along an axis, so that products with a box's length are in int32."""


def _rounded(x: Expr) -> Expr:
    """The nearest integer, halves away from zero, as C's round."""
    size = unary("abs", maximum(minimum(x, float(_FARTHEST)), float(-_FARTHEST)))
    whole = unary("floor", size)
    up = (whole + select(size - whole < 0.5, Const(0.0, x.dtype), 1.0)).cast(I32)
    return select(x < 0.0, -up, up)


def _max_roi_pool(call: Call) -> Tensor:
    """Image [N, C, H, W], boxes [R, 5] (image, x1, y1, x2, y2, times `spatial_scale`, ends included): the largest pixel
    of each cell [R, C, height, width], 0 where a cell has none (R. Girshick, Fast R-CNN, 2015, section 2.1).

    A cell's ends are quotients of integers, rounded outwards: onnxruntime, in float32, takes one pixel more where such
    a quotient is an integer and its product is rounded up, at 1 in 1,500.
    """
    x, rois = call.input(0, (None,) * 4), call.input(1, (None, 5))
    none: tuple[int, ...] = ()
    out, scale = call.attribute("pooled_shape", none), call.attribute("spatial_scale", 1.0)
    if len(out) != 2 or not all(0 < n <= _MOST_CELLS for n in out):
        raise call.unsupported(
            f"attribute pooled_shape={list(out)} is no height and width of 1 to {_MOST_CELLS}", "the model is invalid"
        )
    if 0 in x.shape:
        raise call.unsupported(f"its input of shape {shown(x.shape)} has no pixels", "check the input shape")

    def ends(d: int) -> Tensor:
        """The first pixel of each cell of each box along dimension 2 + d, and the one behind its last."""

        def end(r: Expr, cell: Expr, side: Expr) -> Expr:
            start, last = (_rounded(rois[r, k - d] * scale) for k in (2, 4))
            pixels = maximum(last - start + 1, 1)
            inner = select(side.eq(0), cell * pixels, (cell + 1) * pixels + (out[d] - 1)) // out[d]
            return maximum(minimum(start + inner, number(x.shape[2 + d])), 0)

        return compute(f"{call.name}.ends{d}", (rois.shape[0], out[d], 2), (rois,), end)

    rows, columns = ends(0), ends(1)

    def inside(cells: Tensor, r: Expr, cell: Expr, pixel: Expr) -> Expr:
        return all_of(cells[r, cell, 0] <= pixel, pixel < cells[r, cell, 1])

    def pixel(r: Expr, c: Expr, i: Expr, w: Expr, h: Expr) -> Expr:
        image = maximum(minimum(to_int32(rois[r, 0]), number(x.shape[0]) - 1), 0)
        return select(inside(rows, r, i, h), x[image, c, h, w], neutral("max", x.dtype).value)

    boxes, channels = rois.shape[0], x.shape[1]
    shape = (boxes, channels, out[0], x.shape[3], x.shape[2])
    bands = reduce_axes(f"{call.name}.bands", "max_nan", shape, (4,), (x, rois, rows), pixel)

    def banded(r: Expr, c: Expr, i: Expr, j: Expr, w: Expr) -> Expr:
        return select(inside(columns, r, j, w), bands[r, c, i, w], neutral("max", x.dtype).value)

    shape = (boxes, channels, *out, x.shape[3])
    largest = reduce_axes(f"{call.name}.largest", "max_nan", shape, (4,), (bands, columns), banded)

    def cell(r: Expr, c: Expr, i: Expr, j: Expr) -> Expr:
        some = all_of(rows[r, i, 0] < rows[r, i, 1], columns[r, j, 0] < columns[r, j, 1])
        return select(some, largest[r, c, i, j], 0.0)

    return compute(call.name, largest.shape, (largest, rows, columns), cell)


OPERATORS: dict[str, Callable[[Call], Tensor]] = {"MaxRoiPool": _max_roi_pool}
