"""Resizing, cropping and rearranging of images."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ...converted_call import ConvertedCall
from ..activations import linear
from ..call import Call, Handler

MODES = {
    "STRICT_ALIGN_CORNERS": "align_corners",
    "ALIGN_CORNERS": "align_corners",
    "DEFAULT": "asymmetric",
    "UNALIGN_CORNERS": "half_pixel",
}
"""ONNX's coordinate_transformation_mode by Core ML's sampling mode."""


def resized(call: ConvertedCall, x: str, sizes: Sequence[int] | str, place: str, nearest: bool = False) -> str:
    """The last dimensions of `x` at the sizes given, the last two at those of a value. Nearest pixels are those at or
    before a place."""
    count = 2 if isinstance(sizes, str) else len(sizes)
    attributes: dict[str, Any] = {"mode": "nearest" if nearest else "linear", "axes": list(range(-count, 0))}
    if nearest:
        attributes["nearest_mode"] = "floor"
    operands = [x, "", "", sizes if isinstance(sizes, str) else call.integers(list(sizes))]
    return call.node("Resize", operands, coordinate_transformation_mode=place, **attributes)


def scaled_sizes(call: ConvertedCall, x: str, rank: int, factors: Sequence[float]) -> str:
    """The last two sizes of `x` times the factors, rounded down: by integers alone, as free sizes are computed.
    A factor is the simplest fraction that float32 rounds to it."""
    fractions = [_simplest_fraction(f) for f in factors]
    own = call.node("Shape", [x], start=rank - 2)
    scaled = call.node("Mul", [own, call.integers([f.numerator for f in fractions])])
    return call.node("Div", [scaled, call.integers([f.denominator for f in fractions])])


def _simplest_fraction(factor: float) -> Fraction:
    exact = Fraction(float(np.float32(factor)))
    near = (exact.limit_denominator(10**digits) for digits in range(1, 8))
    return next((f for f in near if np.float32(float(f)) == np.float32(factor)), exact)


def _sampling(call: Call, sizes: Sequence[int]) -> str:
    mode = call.text("sampling_mode", "DEFAULT")
    if mode == "ALIGN_CORNERS" and 1 in sizes:  # one pixel is the middle one
        if set(sizes) == {1}:
            return "half_pixel"
        raise call.unsupported(f"sampling_mode is {mode} for the sizes {list(sizes)}")
    if mode not in MODES:
        raise call.unsupported(f"sampling_mode is {mode}; convert the model with another one")
    return MODES[mode]


def _resize_bilinear(call: Call) -> str:
    sizes = [call.integer("target_size_height", 1), call.integer("target_size_width", 1)]
    return resized(call, call.read("x"), sizes, _sampling(call, sizes))


def _resize_nearest_neighbor(call: Call) -> str:
    sizes = [call.integer("target_size_height"), call.integer("target_size_width")]
    return resized(call, call.read("x"), sizes, "asymmetric", nearest=True)


def _resize(call: Call) -> str:
    """0 keeps a size."""
    count = call.integer("resized_dims")
    given, own = call.ints("shape")[-count:], call.shape()[-count:]
    sizes = [n or size or 0 for n, size in zip(given, own, strict=True)]
    if 0 in sizes:
        raise call.unsupported("it keeps a size that is free; convert the model with fixed shapes")
    nearest = call.text("interpolation_mode", "LINEAR") == "NEAREST_NEIGHBOR"
    place = _sampling(call, sizes)
    if nearest and place != "asymmetric":
        raise call.unsupported(f"nearest pixels by the sampling mode {call.text('sampling_mode', 'DEFAULT')}")
    return resized(call, call.read("x"), sizes, place, nearest)


def _upsample(nearest: bool) -> Handler:
    """Where sizes are known, places go by the size of the result, not by the factor."""

    def convert(call: Call) -> str:
        place = "asymmetric"
        if not nearest:
            half = "half_pixel" if call.flag("half_pixel_centers", True) else "asymmetric"
            place = "align_corners" if call.flag("align_corners", True) else half
        factors = [call.real(f"scale_factor_{side}", 1) for side in ("height", "width")]
        own = call.shape()[-2:]
        if None not in own:
            sizes = [int(f * n) for f, n in zip(factors, own, strict=True) if n is not None]
            return resized(call, call.read("x"), sizes, place, nearest)
        return resized(call, call.read("x"), scaled_sizes(call, call.read("x"), call.rank(), factors), place, nearest)

    return convert


def _crop(call: Call) -> str:
    """Pixels less at the begin and at the end of both dimensions."""
    begins, ends = zip(call.ints("crop_height"), call.ints("crop_width"), strict=True)
    last = [-n or 2**31 - 1 for n in ends]
    return call.node("Slice", [call.read("x"), call.integers(begins), call.integers(last), call.integers([-2, -1])])


def _blocks(op: str) -> Handler:
    def convert(call: Call) -> str:
        return call.node(op, [call.read("x")], blocksize=call.integer("block_size"))

    return convert


def _pixel_shuffle(call: Call) -> str:
    return call.node("DepthToSpace", [call.read("x")], blocksize=call.integer("upscale_factor"), mode="CRD")


def _fixed(call: Call) -> list[int]:
    shape = call.shape()
    if None in shape[1:]:
        raise call.unsupported("the size of its operand is free; convert the model with fixed shapes")
    return [-1 if n is None else n for n in shape]


def _pixel_unshuffle(call: Call) -> str:
    """The place in a block is the inner part of the channel, where SpaceToDepth has the outer one."""
    n, c, h, w = _fixed(call)
    f = call.integer("downscale_factor")
    parts = call.reshaped(call.read("x"), [n, c, h // f, f, w // f, f])
    moved = call.node("Transpose", [parts], perm=[0, 1, 3, 5, 2, 4])
    return call.reshaped(moved, [n, c * f * f, h // f, w // f])


def _space_to_batch(call: Call) -> str:
    n, c, h, w = _fixed(call)
    (a, b), ((top, bottom), (left, right)) = call.ints("block_shape"), call.constant("paddings")
    pads = [int(p) for p in (top, left, bottom, right)]
    padded = call.node("Pad", [call.read("x"), call.integers(pads), "", call.integers([2, 3])])
    h, w = (h + pads[0] + pads[2]) // a, (w + pads[1] + pads[3]) // b
    parts = call.node("Reshape", [padded, call.integers([n, c, h, a, w, b])])
    moved = call.node("Transpose", [parts], perm=[3, 5, 0, 1, 2, 4])
    return call.node("Reshape", [moved, call.integers([n * a * b if n > 0 else -1, c, h, w])])


def _batch_to_space(call: Call) -> str:
    n, c, h, w = _fixed(call)
    (a, b), ((top, bottom), (left, right)) = call.ints("block_shape"), call.constant("crops")
    parts = call.node("Reshape", [call.read("x"), call.integers([a, b, n // (a * b) if n > 0 else -1, c, h, w])])
    moved = call.node("Transpose", [parts], perm=[2, 3, 4, 0, 5, 1])
    whole = call.node("Reshape", [moved, call.integers([n // (a * b) if n > 0 else -1, c, h * a, w * b])])
    ends = [h * a - int(bottom), w * b - int(right)]
    return call.node("Slice", [whole, call.integers([int(top), int(left)]), call.integers(ends), call.integers([2, 3])])


_PADDINGS = {"constant": "zeros", "border": "border", "reflection": "reflection"}


def _resample(call: Call) -> str:
    """Coordinates are x, y; ONNX has those from -1 to 1."""
    padding, aligned = call.text("padding_mode", "constant"), call.flag("align_corners")
    filled = padding == "constant" and call.real("padding_value", 0.0) != 0
    if padding not in _PADDINGS or filled or (padding == "reflection" and not aligned):
        raise call.unsupported(f"padding_mode is {padding!r}, with these options")
    grid, mode = call.read("coordinates", "float32"), call.text("coordinates_mode", "normalized_minus_one_to_one")
    if mode == "normalized_zero_to_one":
        grid = linear(call, grid, 2.0, -1.0)
    elif mode != "normalized_minus_one_to_one":
        raise call.unsupported(f"coordinates_mode is {mode!r}; convert the model with coordinates from -1 to 1")
    sampling = "nearest" if call.text("sampling_mode", "bilinear") == "nearest" else "linear"
    attributes = {"mode": sampling, "padding_mode": _PADDINGS[padding], "align_corners": int(aligned)}
    return call.node("GridSample", [call.read("x"), grid], **attributes)


OPERATORS: dict[str, Handler] = {
    "batch_to_space": _batch_to_space,
    "crop": _crop,
    "depth_to_space": _blocks("DepthToSpace"),
    "pixel_shuffle": _pixel_shuffle,
    "pixel_unshuffle": _pixel_unshuffle,
    "resample": _resample,
    "resize": _resize,
    "resize_bilinear": _resize_bilinear,
    "resize_nearest_neighbor": _resize_nearest_neighbor,
    "space_to_batch": _space_to_batch,
    "space_to_depth": _blocks("SpaceToDepth"),
    "upsample_bilinear": _upsample(nearest=False),
    "upsample_nearest_neighbor": _upsample(nearest=True),
}
