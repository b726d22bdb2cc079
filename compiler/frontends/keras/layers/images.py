"""Pooling, padding, cropping and resizing of images, of one to three spatial axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..call import Call, Handler, Value
from .convolutions import window


def _pool(op: str, n: int) -> Handler:
    """Averages leave out the padding in both."""

    def convert(call: Call) -> Value:
        x, sizes = call.x, call.numbers("pool_size", n, 2)
        strides = sizes if call.option("strides") is None else call.numbers("strides", n)
        return call.image(call.node(op, [call.planar(x)], **window(call, sizes, strides, [1] * n)), x.rank)

    return convert


def _global_pool(op: str) -> Handler:
    def convert(call: Call) -> Value:
        x, keep = call.x, bool(call.option("keepdims", False))
        if x.mask is not None and op == "ReduceMean" and call.scope.dialect.masks_means:
            return _masked_mean(call, x, keep)
        name, axes, planar = _spatial(call, x)
        result = call.node(op, [name, call.integers(axes)], keepdims=int(keep))
        if not keep:
            return Value(result, 2)
        return call.interleaved(result, x.rank) if planar and not call.channels_first else Value(result, x.rank)

    return convert


def _masked_mean(call: Call, x: Value, keep: bool) -> Value:
    """The mean of the steps that count."""
    mask = call.known_mask(x)
    if x.rank != 3 or call.channels_first:
        raise call.unsupported("it has a mask of other than batch x steps x features; save a model without it")
    counted = call.node("Cast", [mask], to=1)
    weights = call.node("Unsqueeze", [counted, call.integers([2])])
    sums, counts = (
        call.node("ReduceSum", [v, call.integers([1])], keepdims=int(keep))
        for v in (call.node("Mul", [x.name, weights]), weights)
    )
    return Value(call.node("Div", [sums, counts]), 3 if keep else 2)


def _spatial(call: Call, x: Value) -> tuple[str, list[int], bool]:
    """`x` in the order that it is in, its spatial axes, and whether that is N, C, ..."""
    if call.channels_first or x.name in call.images:
        return call.planar(x), list(range(2, x.rank)), True
    return x.name, list(range(1, x.rank - 1)), False


def _pairs(call: Call, option: str, n: int) -> list[tuple[int, int]]:
    """Amounts before and behind for each axis: one for all, one for each, or a pair for each. Of one axis a pair is
    its own."""
    given = call.option(option, 1)
    if isinstance(given, int):
        return [(given, given)] * n
    if n == 1 and len(given) == 2 and isinstance(given[0], int):
        return [(int(given[0]), int(given[1]))]
    pairs = [(int(g), int(g)) if isinstance(g, int) else (int(g[0]), int(g[1])) for g in given]
    if len(pairs) != n:
        raise call.unsupported(f"{option} is {given!r}, for {n} dimensions")
    return pairs


def _zero_padding(n: int) -> Handler:
    def convert(call: Call) -> Value:
        x, pairs = call.x, _pairs(call, "padding", n)
        name, axes, planar = _spatial(call, x)
        amounts = call.integers([b for b, _ in pairs] + [e for _, e in pairs])
        return _as_before(call, call.node("Pad", [name, amounts, "", call.integers(axes)]), x, planar)

    return convert


def _cropping(n: int) -> Handler:
    def convert(call: Call) -> Value:
        x, pairs = call.x, _pairs(call, "cropping", n)
        name, axes, planar = _spatial(call, x)
        starts, ends = [b for b, _ in pairs], [-e if e else 2**31 - 1 for _, e in pairs]
        sliced = call.node("Slice", [name, call.integers(starts), call.integers(ends), call.integers(axes)])
        return _as_before(call, sliced, x, planar)

    return convert


def _as_before(call: Call, name: str, x: Value, planar: bool) -> Value:
    return call.image(name, x.rank) if planar else Value(name, x.rank)


_MODES: dict[str, dict[str, Any]] = {
    "nearest": {"mode": "nearest"},
    "bilinear": {"mode": "linear"},
    "bicubic": {"mode": "cubic", "cubic_coeff_a": -0.5, "exclude_outside": 1},
}


_NEAREST = {"half_pixel": "round_prefer_ceil", "asymmetric": "floor"}


def _mode(call: Call, default: str, coordinates: str = "half_pixel") -> dict[str, Any]:
    name = str(call.option("interpolation", default)).lower()
    if name not in _MODES:
        raise call.unsupported(f"the interpolation {name!r}")
    found = {**_MODES[name], "coordinate_transformation_mode": coordinates}
    if name == "nearest":
        return {**found, "nearest_mode": _NEAREST[coordinates]}
    return {**found, "antialias": 1, "exclude_outside": 1} if call.option("antialias", False) else found


def _up_sampling(n: int) -> Handler:
    def convert(call: Call) -> Value:
        x = call.x
        scales = call.constant(np.array([1, 1, *call.numbers("size", n, 2)], np.float32), "scales")
        mode = _mode(call, "nearest", call.scope.dialect.up_sampling)
        return call.image(call.node("Resize", [call.planar(x), "", scales], **mode), x.rank)

    return convert


def _resizing(call: Call) -> Value:
    if call.option("crop_to_aspect_ratio", False) or call.option("pad_to_aspect_ratio", False):
        raise call.unsupported("it keeps the aspect ratio, which is not supported; resize to the very size")
    x, size = call.x, [int(call.option("height")), int(call.option("width"))]
    operands = [call.planar(x), "", "", call.integers(size)]
    return call.image(call.node("Resize", operands, axes=[2, 3], **_mode(call, "bilinear")), x.rank)


LAYERS: dict[str, Handler] = {
    **{f"AveragePooling{n}D": _pool("AveragePool", n) for n in (1, 2, 3)},
    **{f"MaxPooling{n}D": _pool("MaxPool", n) for n in (1, 2, 3)},
    **{f"GlobalAveragePooling{n}D": _global_pool("ReduceMean") for n in (1, 2, 3)},
    **{f"GlobalMaxPooling{n}D": _global_pool("ReduceMax") for n in (1, 2, 3)},
    **{f"ZeroPadding{n}D": _zero_padding(n) for n in (1, 2, 3)},
    **{f"Cropping{n}D": _cropping(n) for n in (1, 2, 3)},
    **{f"UpSampling{n}D": _up_sampling(n) for n in (1, 2, 3)},
    "Resizing": _resizing,
}
