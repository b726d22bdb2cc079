"""Resize and Upsample: one gather for `nearest`, one map for `linear`, one reduction per axis for wider kernels."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...dtypes import F32, I32, U8, DType, highest, lowest
from ...ir.construct import maximum, minimum, select, unary
from ...ir.nodes import Expr, binary, expr
from ...ir.sizes import Size, capacity, divided, equal, least, shown, size
from ...system.limits import FOLD_BYTES, format_size
from ...tensor import Tensor, compute, constant
from ..axes import many_axes
from ..call import Call
from ..reductions.reduce_axes import reduce_over
from ..varying_axes import VaryingAxis, VaryingTaps
from ..window import both, scaled, shifted, within
from .sample import (
    COORDINATES,
    LONGEST_AXIS,
    ROUNDING,
    TAP_BYTES,
    Array,
    Axis,
    Taps,
    cubic_kernel,
    interpolate,
    linear_kernel,
    nearest,
)

Index = Callable[[Expr], Expr]
"""From the index of an output element to that of an input element."""

MOST_PARTS = 1 << 10
"""The largest denominator of a scale along a dimension of any size: the size of the result is exact then."""


@dataclass(frozen=True, slots=True)
class Blend:
    """How few elements along an axis make one of the result: from its index to those of the elements, and their
    weights, which are read from `places` and `shares`."""

    places: Tensor | None
    shares: Tensor | None
    taps: Callable[[Expr], VaryingTaps]


REPEATING = {
    "asymmetric": frozenset({"floor", "simple"}),
    "half_pixel": frozenset({"floor", "round_prefer_ceil", "round_prefer_floor"}),
}
"""Coordinate modes that depend on the scale alone, with the nearest modes for which no nearest element of a dimension
that is enlarged a whole number of times is beyond its end: they are the same along a dimension of any size."""

_POINT = 22
"""Bits after the point of weights for bytes: with sums of weights up to 2 in size, those of products are int32."""


def upsample(call: Call) -> Tensor:
    """ONNX Upsample, opset 7 to 9; scales by attribute (7) or input 1 (9)."""
    absent: tuple[float, ...] = ()
    scales_input = call.floats(1, "scales")
    scales = call.attribute("scales", absent) if scales_input is None else scales_input
    x = call.input(0)
    return _resample(call, x, _scaled(call, x, range(x.rank), scales), "asymmetric", "simple")


def resize(call: Call) -> Tensor:
    """ONNX Resize from opset 10; scales and roi are known at compile time, sizes as such."""
    x = call.input(0)
    if call.opset < 11:
        axes = _scaled(call, x, range(x.rank), call.floats(1, "scales") or ())
        return _resample(call, x, axes, "asymmetric", "simple")
    absent: tuple[int, ...] = ()
    named = call.attribute("axes", absent)
    dimensions = many_axes(call, named, x.rank) if named else tuple(range(x.rank))
    factors, sizes = call.floats(2, "scales"), call.counts(3, "sizes")
    if factors:
        axes = _scaled(call, x, dimensions, factors)
    elif sizes:
        axes = _sized(call, x, dimensions, sizes)
    else:
        raise call.unsupported("it has neither scales nor sizes", "the model is invalid")
    mode = call.attribute("coordinate_transformation_mode", "half_pixel")
    if mode == "tf_crop_and_resize":
        axes = [*_cropped(call, _fixed(call, axes))]
    return _resample(call, x, axes, mode, call.attribute("nearest_mode", "round_prefer_floor"))


def _scaled(call: Call, x: Tensor, dimensions: Sequence[int], scales: Sequence[float]) -> list[Axis | VaryingAxis]:
    if len(scales) != len(dimensions):
        raise call.unsupported(f"scales {list(scales)} do not fit {len(dimensions)} axes", "the model is invalid")
    if not all(0 < s < math.inf for s in scales):
        raise call.unsupported(f"scales {list(scales)} are not all finite and above 0", "the model is invalid")
    axes: list[Axis | VaryingAxis] = []
    for d, s in zip(dimensions, scales, strict=True):
        extent = x.shape[d]
        if not isinstance(extent, int):
            times, parts = float(np.float32(s)).as_integer_ratio()
            if parts > MOST_PARTS or x.extents[d] * times > LONGEST_AXIS:
                call.fixed(x, (d,))
            axes.append(VaryingAxis(d, extent, divided(size(extent * times), parts), s))
            continue
        with np.errstate(over="ignore"):
            count = float(np.float32(s) * np.float32(extent))
        # What overflows is refused with all that is too long.
        axes.append(Axis(d, extent, int(min(count, 2 * LONGEST_AXIS)), s))
    return axes


def _sized(call: Call, x: Tensor, dimensions: Sequence[int], sizes: Sequence[Size]) -> list[Axis | VaryingAxis]:
    if len(sizes) != len(dimensions) or any(isinstance(n, int) and n < 0 for n in sizes):
        raise call.unsupported(f"sizes {shown(sizes)} do not fit {len(dimensions)} axes", "the model is invalid")
    policy = call.attribute("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        axes: list[Axis | VaryingAxis] = []
        for d, n in zip(dimensions, sizes, strict=True):
            extent = x.shape[d]
            if isinstance(extent, int) and isinstance(n, int):
                axes.append(Axis(d, extent, n, n / max(extent, 1)))
            else:
                axes.append(VaryingAxis(d, extent, n))
        return axes
    extents = call.fixed(x, dimensions)
    counts = [call.fixed_size(n, "of its result") for n in sizes]
    ratios = [n / max(extent, 1) for n, extent in zip(counts, extents, strict=True)]
    ratio = min(ratios) if policy == "not_larger" else max(ratios)
    return [
        Axis(d, extent, math.floor(np.float32(ratio * extent) + 0.5), ratio)
        for d, extent in zip(dimensions, extents, strict=True)
    ]


def _repeated(x: Tensor, a: Axis | VaryingAxis) -> Axis | VaryingAxis:
    """An axis of any size along which each element is copied a whole number of times: coordinates need no size then."""
    if isinstance(a, Axis) or not least(a.size):
        return a
    factor = divided(a.count, a.size)
    if not isinstance(factor, int) or not equal(a.count, size(a.size * factor)):
        return a
    extent = x.extents[a.dimension]
    return Axis(a.dimension, extent, extent * factor, factor)


def _fixed(call: Call, axes: Sequence[Axis | VaryingAxis]) -> list[Axis]:
    """Narrows the type of the axes. Raises UnsupportedError where a size varies."""
    for a in axes:
        for n in (a.size, a.count):
            call.fixed_size(n, f"along axis {a.dimension}")
    return [a for a in axes if isinstance(a, Axis)]


def _cropped(call: Call, axes: Sequence[Axis]) -> list[Axis]:
    roi = call.floats(1, "roi")
    if roi is None or len(roi) != 2 * len(axes):
        raise call.unsupported("tf_crop_and_resize needs a start and an end in roi for every axis", "give roi")
    starts, ends = roi[: len(axes)], roi[len(axes) :]
    return [
        Axis(a.dimension, a.size, a.count, a.scale, (start, end))
        for a, start, end in zip(axes, starts, ends, strict=True)
    ]


def _resample(
    call: Call, x: Tensor, axes: Sequence[Axis | VaryingAxis], coordinate_mode: str, nearest_mode: str
) -> Tensor:
    if coordinate_mode not in COORDINATES:
        raise call.unsupported(f"coordinate_transformation_mode {coordinate_mode!r} is unknown", "use half_pixel")
    mode = call.attribute("mode", "nearest")
    shape = list(x.shape)
    for a in axes:
        shape[a.dimension] = a.count
        if capacity(a.count) > LONGEST_AXIS or capacity(a.size) > LONGEST_AXIS:
            raise call.unsupported(
                f"axis {a.dimension} of extent {a.size} or its result has more than {LONGEST_AXIS} elements, which is "
                "what float32 coordinates distinguish",
                "check its sizes or scales",
            )
    if coordinate_mode != "tf_half_pixel_for_nn":
        axes = [a for a in axes if isinstance(a, Axis) or not (a.scale in (None, 1) and equal(a.count, a.size))]
    if mode == "nearest" and nearest_mode in REPEATING.get(coordinate_mode, ()):
        axes = [_repeated(x, a) for a in axes]
    if mode != "nearest" and call.attribute("antialias", 0):
        axes = _fixed(call, axes)
    fixed, varying = [a for a in axes if isinstance(a, Axis)], [a for a in axes if isinstance(a, VaryingAxis)]
    coordinates = {a.dimension: a.coordinates(coordinate_mode) for a in fixed}
    tables = {a: a.coordinates(f"{call.name}.coordinates{a.dimension}", coordinate_mode) for a in varying}
    if not all(np.all(np.isfinite(c)) for c in coordinates.values()):
        raise call.unsupported("its scales or its roi lead to coordinates beyond float32", "the model is invalid")
    if 0 in shape:
        return compute(call.name, tuple(shape), (), lambda *_: expr(0, x.dtype))
    if 0 in x.shape:
        raise call.unsupported(f"its input of shape {shown(x.shape)} has no elements", "check the input shape")
    if mode == "nearest":
        if nearest_mode not in ROUNDING:
            raise call.unsupported(f"nearest_mode {nearest_mode!r} is unknown", "use round_prefer_floor")
        read: dict[int, tuple[Tensor | None, Index]] = {}
        for a in fixed:
            index = nearest(a, coordinates[a.dimension], nearest_mode)
            read[a.dimension] = _index(f"{call.name}.index{a.dimension}", index, x.extents[a.dimension])
        read |= {b.dimension: (t, b.nearest(t, nearest_mode)) for b, t in tables.items()}
        result = _gather(call, x, tuple(shape), read)
    elif mode in ("linear", "bilinear", "cubic"):
        result = _interpolated(call, x, tuple(shape), fixed, coordinates, tables, cubic=mode == "cubic")
    else:
        raise call.unsupported(f"mode {mode!r} is unknown", "use nearest, linear or cubic")
    return _extrapolated(call, result, fixed, coordinates) if coordinate_mode == "tf_crop_and_resize" else result


def _gather(call: Call, x: Tensor, shape: tuple[Size, ...], read: Mapping[int, tuple[Tensor | None, Index]]) -> Tensor:
    def body(*i: Expr) -> Expr:
        return x.read([read[d][1](e) if d in read else e for d, e in enumerate(i)])

    return compute(call.name, shape, (x, *(t for t, _ in read.values())), body)


def _index(name: str, table: Array, size: int) -> tuple[Tensor | None, Index]:
    """How the index `table[o]` is written: by arithmetic where it is regular, else as a constant to read."""
    count = len(table)
    o = np.arange(count)
    factor = count // size if size else 0
    if factor and count == factor * size and np.array_equal(table, o // factor):
        return None, lambda e: e if factor == 1 else e // factor
    step, start = (int(table[1] - table[0]) if count > 1 else 1), int(table[0]) if count else 0
    if step > 0 and np.array_equal(table, o * step + start):
        return None, lambda e: shifted(scaled(e, step), start)
    t = constant(name, np.ascontiguousarray(table))
    return t, lambda e: t[e]


def _interpolated(
    call: Call,
    x: Tensor,
    shape: tuple[Size, ...],
    axes: Sequence[Axis],
    coordinates: Mapping[int, Array],
    tables: Mapping[VaryingAxis, Tensor],
    *,
    cubic: bool,
) -> Tensor:
    """Integers in float32, and then truncated, or rounded with antialias; then bytes take `_weigh_bytes`."""
    antialias = call.attribute("antialias", 0) != 0
    exclude_outside = call.attribute("exclude_outside", 0) != 0 and (cubic or antialias)
    coefficient = call.attribute("cubic_coeff_a", -0.75)
    kernel = cubic_kernel(coefficient) if cubic else linear_kernel
    radius = 2 if cubic else 1
    taps: dict[int, Taps] = {}
    for a in axes:
        x_of = coordinates[a.dimension]
        if np.array_equal(x_of, np.arange(a.size)):
            continue  # each element is itself
        most = a.count * 2 * a.reach(radius, antialias) * TAP_BYTES
        if most > FOLD_BYTES:
            raise call.unsupported(
                f"interpolating axis {a.dimension} from {a.size} to {a.count} elements takes tables of "
                f"{format_size(most)} in the bundle, and {format_size(FOLD_BYTES)} are the most",
                "check its sizes or scales, or use mode nearest",
            )
        taps[a.dimension] = interpolate(a, x_of, kernel, radius, antialias, exclude_outside)
    if antialias and x.dtype == U8:
        return _weigh_bytes(call.name, x, taps)
    result = x if x.dtype.is_float else _cast(f"{call.name}.float", x, F32)
    if all(t.index.shape[1] <= 2 for t in taps.values()) and not (cubic and tables):
        ends = {d: _ends(call.name, t, result, d) for d, t in taps.items()}
        ends |= {b.dimension: Blend(t, None, b.linear(t)) for b, t in tables.items()}
        result = _blend(call.name, result, shape, ends)
    else:
        for d, t in taps.items():
            result = _weigh(f"{call.name}.axis{d}", result, d, t)
        for b, table in tables.items():
            d, taps_of = b.dimension, b.cubic(table, coefficient, exclude_outside=exclude_outside)
            extents = (*result.shape[:d], b.count, *result.shape[d + 1 :])
            result = _blend(f"{call.name}.axis{d}", result, extents, {d: Blend(table, None, taps_of)})
    if x.dtype.is_float:
        return result

    def whole(*i: Expr) -> Expr:
        return (unary("round", result[i]) if antialias else result[i]).cast(x.dtype)

    return compute(f"{call.name}.integer", shape, (result,), whole)


def _weigh_bytes(name: str, x: Tensor, taps: dict[int, Taps]) -> Tensor:
    """As Pillow and onnxruntime do: the last axis first, weights of 22 bits after the point, and each axis rounded to
    bytes, halves up."""
    result = x
    for d in sorted(taps, reverse=True):
        fixed = Taps(taps[d].index, np.rint(taps[d].weight * 2.0**_POINT).astype(np.int32))
        sums = _weigh(f"{name}.sum{d}", _cast(f"{name}.wide{d}", result, I32), d, fixed)
        result = _rounded(f"{name}.axis{d}", sums)
    return result


def _rounded(name: str, sums: Tensor) -> Tensor:
    def byte(*i: Expr) -> Expr:
        return minimum(maximum(binary("shr", sums[i] + (1 << _POINT - 1), _POINT), 0), 255).cast(U8)

    return compute(name, sums.shape, (sums,), byte)


def _cast(name: str, x: Tensor, dtype: DType) -> Tensor:
    return compute(name, x.shape, (x,), lambda *i: x[i].cast(dtype))


def _blend(name: str, x: Tensor, shape: tuple[Size, ...], blends: Mapping[int, Blend]) -> Tensor:
    """Interpolation between few elements along each axis of `blends`, as one map."""

    def body(*o: Expr) -> Expr:
        def element(index: list[Expr]) -> Expr:
            d = len(index)
            if d == len(o):
                return x.read(index)
            if d not in blends:
                return element([*index, o[d]])
            first, *others = blends[d].taps(o[d])
            total = element([*index, first[0]])
            if others:
                total = total * first[1].cast(x.dtype)
            for at, weight in others:
                total = total + element([*index, at]) * weight.cast(x.dtype)
            return total

        return element([])

    tables = [*(b.places for b in blends.values()), *(b.shares for b in blends.values())]
    return compute(name, shape, (x, *tables), body)


def _ends(name: str, taps: Taps, x: Tensor, dimension: int) -> Blend:
    """Both ends of each interval, in one constant where one of them is irregular: a shader reads few."""
    table = taps.index[:, (0, -1)]
    shares = constant(f"{name}.shares{dimension}", np.ascontiguousarray(taps.weight.T, x.dtype.numpy))
    (a, low), (b, high) = (_index("", table[:, end], x.extents[dimension]) for end in (0, 1))
    places = None
    if a is not None or b is not None:
        places = t = constant(f"{name}.ends{dimension}", np.ascontiguousarray(table.T))
        low, high = lambda e: t[0, e], lambda e: t[1, e]
    pair = ((low, 0), (high, 1))[: taps.index.shape[1]]
    return Blend(places, shares, lambda e: [(at(e), shares[k, e]) for at, k in pair])


def _weigh(name: str, x: Tensor, dimension: int, taps: Taps) -> Tensor:
    """The weighted sum of the taps along one dimension."""
    count, width = taps.index.shape
    index = constant(f"{name}.index", taps.index)
    weight = constant(f"{name}.weight", taps.weight.astype(x.dtype.numpy))

    def body(*o: Expr) -> Expr:
        at = o[dimension]

        def product(tap: Expr) -> Expr:
            element = x.read([*o[:dimension], index[at, tap], *o[dimension + 1 :]])
            return element * weight[at, tap]

        return reduce_over("sum", (width,), product)

    return compute(name, (*x.shape[:dimension], count, *x.shape[dimension + 1 :]), (x, index, weight), body)


def _extrapolated(call: Call, t: Tensor, axes: list[Axis], coordinates: dict[int, Array]) -> Tensor:
    """`extrapolation_value` where a coordinate is outside the input.

    Coordinates are monotonic, so those inside are one range on each axis.
    """
    value = call.attribute("extrapolation_value", 0.0)
    ranges = []
    for a in axes:
        x = coordinates[a.dimension]
        inside = np.flatnonzero((x >= 0) & (x <= a.size - 1))
        if len(inside) < a.count:
            ranges.append((a.dimension, int(inside[0]), int(inside[-1]) + 1) if len(inside) else (a.dimension, 0, 0))
    if not ranges:
        return t

    outside = value
    if not t.dtype.is_float:
        if not lowest(t.dtype) <= value <= highest(t.dtype):
            raise call.unsupported(f"extrapolation_value {value} is no {t.dtype}", "the model is invalid")
        outside = int(value)

    def body(*i: Expr) -> Expr:
        guard: Expr | None = None
        for d, start, stop in ranges:
            guard = both(guard, within(shifted(i[d], -start), stop - start, -start, t.shape[d] - 1 - start))
        return t[i] if guard is None else select(guard, t[i], outside)

    return compute(f"{call.name}.inside", t.shape, (t,), body)


OPERATORS = {"Resize": resize, "Upsample": upsample}
