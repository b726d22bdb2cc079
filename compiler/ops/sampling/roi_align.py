"""RoiAlign: boxes of an image, each pooled to a grid of the same size, from samples between the pixels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

from ...dtypes import I32
from ...ir.construct import all_of, maximum, maximum_nan, minimum, select, unary
from ...ir.nodes import Const, Expr, expr
from ...ir.reduction import neutral
from ...ir.sizes import Size, capacity, number, shown
from ...tensor import Tensor, compute
from ...tensor.computed_sizes import computed_size
from ..call import Call
from ..movement.gather import to_int32
from ..reductions.reduce_axes import reduce_over
from .between import Tap, interpolated, last_outside, limited

_MARGIN = 3
"""Samples of a bin that are near the image are at most so many more than it has pixels: they are a pixel apart at most,
and half a pixel at least where there are more than two."""


_MOST = 1 << 24
"""Samples along a side of a bin: float32 counts so far."""


@dataclass(frozen=True, slots=True)
class _Samples:
    """Pixels along an axis that make a sample: from a box, a bin and a step, by what the tables say."""

    tables: tuple[Tensor, Tensor]
    taps: Callable[[Expr, Expr, Expr], list[Tap]]


@dataclass(frozen=True, slots=True)
class _Axis:
    """An axis of the image, dimension 0 or 1 of the tensors: where boxes start, the length of a bin, and how many
    samples it has, `ratio` where there is no such tensor."""

    dimension: int
    extent: Size
    starts: Tensor
    bins: Tensor
    counts: Tensor | None
    ratio: int

    @property
    def most(self) -> Expr:
        """The samples of a bin, at most, that are near the image."""
        return number(self.extent) + _MARGIN

    def count(self, r: Expr) -> Expr:
        """The samples of each bin of box `r`."""
        return Const(self.ratio) if self.counts is None else self.counts[r, self.dimension]

    def steps(self, name: str) -> Size:
        """The samples of each bin that are looked at: those that the longest box has near the image."""
        if self.counts is None:
            return self.ratio

        def longest() -> Expr:
            return reduce_over("max", self.starts.shape[:1], lambda r: minimum(self.count(r), self.most))

        found = compute(f"{name}.longest{self.dimension}", (), (self.counts,), longest)
        source = compute(f"{name}.steps{self.dimension}", (1,), (found,), lambda _: maximum(found.read(()), 0))
        return computed_size(source.name, capacity(self.extent) + _MARGIN + 1, source)

    def samples(self, name: str, bins: int, steps: Size) -> _Samples:
        """The samples of so many bins, which are the same in all channels."""
        shape = (self.starts.shape[0], bins, steps)
        reads = (self.starts, self.bins, self.counts)

        def first(r: Expr, position: Expr, step: Expr) -> Expr:
            _, place = self._place(r, position, step)
            return unary("floor", limited(place, self.extent, 0)).cast(I32)

        def weight(r: Expr, position: Expr, step: Expr, end: Expr) -> Expr:
            number_of, place = self._place(r, position, step)
            kept = limited(place, self.extent, 0)
            share = kept - unary("floor", kept)
            near = (place >= -1.0) & (place <= number(self.extent, place.dtype)) & (number_of < self.count(r))
            return select(near, select(end.eq(0), 1.0 - share, share), 0.0)

        places = compute(f"{name}.first{self.dimension}", shape, reads, first)
        weights = compute(f"{name}.weights{self.dimension}", (*shape, 2), reads, weight)

        def taps(r: Expr, position: Expr, step: Expr) -> list[Tap]:
            at = r, position, step
            pixels = (last_outside(places.read(at) + k, self.extent) for k in range(2))
            return [Tap(p.index, None, weights[*at, k]) for k, p in enumerate(pixels)]

        return _Samples((places, weights), taps)

    def _place(self, r: Expr, position: Expr, step: Expr) -> tuple[Expr, Expr]:
        """The number of a sample in a bin of box `r`, and where it is."""
        size, count = self.bins[r, self.dimension], self.count(r)
        start = self.starts[r, self.dimension] + position.cast(size.dtype) * size
        i = step
        if self.counts is not None:
            before = _whole((-1.0 - start) / size * count.cast(size.dtype) - 1.0)
            i = i + select(self.most < count, before, 0)
        return i, start + (i.cast(size.dtype) + 0.5) * size / count.cast(size.dtype)


def _whole(x: Expr) -> Expr:
    """The number of samples, at least 0, next above `x`."""
    return minimum(maximum(Const(0.0, x.dtype), unary("ceil", x)), float(_MOST)).cast(I32)


def _largest(x: Tensor, before: Sequence[Expr], axes: Sequence[Sequence[Tap]]) -> Expr:
    """The largest product of a pixel and its weight."""
    rows, columns = axes
    products = []
    for row in rows:
        for column in columns:
            assert row.weight is not None
            assert column.weight is not None
            products.append(x.read([*before, row.index, column.index]) * (row.weight * column.weight))
    return reduce(maximum_nan, products)


def _roi_align(call: Call) -> Tensor:
    """Image [N, C, H, W], boxes [R, 4] (x1, y1, x2, y2, times `spatial_scale`), the image of each [R]: [R, C, height,
    width], of samples the mean, or the largest product of a pixel and its weight, as in onnxruntime.

    Samples further than a pixel outside are zero. With sampling_ratio 0 they are a pixel apart at most, as many as
    the longest box needs are computed for each.
    """
    x = call.input(0, (None,) * 4)
    rois = call.input(1, (None, 4))
    batch = call.input(2, rois.shape[:1])
    mode, ratio = call.attribute("mode", "avg"), call.attribute("sampling_ratio", 0)
    old = "output_half_pixel" if call.opset < 16 else "half_pixel"
    coordinates = call.attribute("coordinate_transformation_mode", old)
    out = call.attribute("output_height", 1), call.attribute("output_width", 1)
    if mode not in ("avg", "max") or coordinates not in ("half_pixel", "output_half_pixel"):
        raise call.unsupported(
            f"mode {mode!r} or coordinate_transformation_mode {coordinates!r} is unknown", "use avg and half_pixel"
        )
    if min(out) < 1 or ratio < 0:
        raise call.unsupported(
            f"output_height {out[0]}, output_width {out[1]} and sampling_ratio {ratio} are no grid",
            "the model is invalid",
        )
    shape = (rois.shape[0], x.shape[1], *out)
    if 0 in shape:
        return compute(call.name, shape, (), lambda *_: expr(0, x.dtype))
    if 0 in x.shape:
        raise call.unsupported(f"its input of shape {shown(x.shape)} has no pixels", "check the input shape")
    shift, scale = (0.5 if coordinates == "half_pixel" else 0.0), call.attribute("spatial_scale", 1.0)

    def end(r: Expr, d: Expr) -> Expr:
        """A side of a box in pixels."""
        return rois[r, d] * scale - shift

    def bin_of(r: Expr, d: Expr) -> Expr:
        extent = end(r, 3 - d) - end(r, 1 - d)
        extent = extent if shift else maximum(extent, 1.0)
        return extent / select(d.eq(0), Const(float(out[0]), x.dtype), float(out[1]))

    starts = compute(f"{call.name}.starts", (rois.shape[0], 2), (rois,), lambda r, d: end(r, 1 - d))
    bins = compute(f"{call.name}.bins", starts.shape, (rois,), bin_of)
    counts = None if ratio else compute(f"{call.name}.counts", starts.shape, (bins,), lambda r, d: _whole(bins[r, d]))
    axes = [_Axis(d, x.shape[2 + d], starts, bins, counts, ratio) for d in range(2)]
    steps = [axis.steps(call.name) for axis in axes]

    samples = [axis.samples(call.name, n, k) for axis, n, k in zip(axes, out, steps, strict=True)]

    def pooled(r: Expr, c: Expr, *o: Expr) -> Expr:
        image = maximum(minimum(to_int32(batch[r,]), number(x.shape[0]) - 1), 0)

        def sample(*k: Expr) -> Expr:
            taps = [s.taps(r, position, step) for s, position, step in zip(samples, o, k, strict=True)]
            if mode == "avg":
                return interpolated(x, (image, c), taps)
            value = _largest(x, (image, c), taps)
            there = [step < axis.count(r) for axis, step in zip(axes, k, strict=True)]
            return value if ratio else select(all_of(*there), value, neutral("max", x.dtype).value)

        return reduce_over("sum" if mode == "avg" else "max_nan", steps, sample)

    tables = [table for s in samples for table in s.tables]
    total = compute(f"{call.name}.{mode}", shape, (x, batch, counts, *tables), pooled)

    def whole(r: Expr, c: Expr, *o: Expr) -> Expr:
        rows, columns = (axis.count(r) for axis in axes)
        if mode == "avg":
            return total[r, c, *o] / maximum(rows * columns, 1).cast(x.dtype)
        some = select((rows > 0) & (columns > 0), total[r, c, *o], 0.0)
        skipped = [axis.count(r) > axis.most for axis in axes]  # some that are zero
        return select(skipped[0] | skipped[1], maximum_nan(some, 0.0), some)

    if ratio and mode == "max":
        return total
    return compute(call.name, shape, (total, counts), whole)


OPERATORS = {"RoiAlign": _roi_align}
