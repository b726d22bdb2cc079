"""Discrete Fourier transforms, as contractions with tables of cosines and sines, and bands of their frequencies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...dtypes import F32
from ...ir.construct import select
from ...ir.nodes import Expr
from ...ir.sizes import shown
from ...tensor import Tensor, compute, constant
from ...tensor.fold_tensor import fold
from ..axes import one_axis
from ..call import Call
from ..elementwise.casting import onnx_dtype
from ..reductions.reduce_axes import reduce_over
from ..window import scaled

_LARGEST_TABLE = 1 << 25
"""Elements, 128 MiB of float32: the table is stored with the model's constants."""


def _dft(call: Call) -> Tensor:
    """DFT of float (..., samples, ..., 1 or 2), real or complex: of `dft_length` samples, cut or padded by zeros;
    with inverse=1 over their number; with onesided=1 the first half of the frequencies. With both, of that half of a
    real signal's frequencies, the signal (..., samples, ..., 1). The axis is an input from opset 20 on."""
    x = call.input(0)
    parts = _parts(call, x)
    axis = one_axis(call, (_one(call, 2, "axis", -2) if call.opset >= 20 else call.attribute("axis", 1)), x.rank)
    if axis == x.rank - 1:
        raise call.unsupported(f"axis {axis} is that of real and imaginary parts", "the model is invalid")
    (size,) = call.fixed(x, (axis,))
    inverse, half = call.checked_flag("inverse"), call.checked_flag("onesided")
    length = _one(call, 1, "dft_length", 2 * (size - 1) if inverse and half else size)
    taps = min(size, length // 2 + 1 if inverse and half else length)
    w = _table(call, length, taps, parts, inverse=inverse, half=half)

    def body(*i: Expr) -> Expr:
        def product(j: Expr, part: Expr) -> Expr:
            return x.read([*i[:axis], j, *i[axis + 1 : -1], part]) * w[j, part, i[axis], i[-1]]

        return reduce_over("sum", (taps, parts), product)

    shape = (*x.shape[:axis], w.shape[2], *x.shape[axis + 1 : -1], w.shape[3])
    return compute(call.name, shape, (x, w), body)


def _stft(call: Call) -> Tensor:
    """ONNX STFT of float (batch, samples, 1 or 2): (batch, frames, frequencies, 2), of the samples within whole frames,
    each times the window. Without frame_length a frame is as long as the window."""
    x = call.input(0, (None, None, None))
    parts = _parts(call, x)
    (size,) = call.fixed(x, (1,))
    window = call.optional(2, (None,))
    call.input(1)
    step = _one(call, 1, "frame_step", 1)
    length = _one(call, 3, "frame_length", size if window is None else call.fixed(window)[0])
    if window is not None and call.fixed(window) != (length,):
        raise call.unsupported(
            f"its window has shape {shown(window.shape)}, its frames are of length {length}", "the model is invalid"
        )
    if length > size or step < 1:
        raise call.unsupported(
            f"its frames of length {length}, {step} apart, do not fit {size} samples", "check the input shape"
        )
    w = _table(call, length, length, parts, half=call.attribute("onesided", 1) != 0)
    if window is not None:
        v, plain = window, w
        w = fold(compute(f"{call.name}.windowed", w.shape, (v, w), lambda j, *i: plain[j, *i] * v[j]))
        w = replace(w, exact=True)

    def body(n: Expr, frame: Expr, k: Expr, out: Expr) -> Expr:
        def product(j: Expr, part: Expr) -> Expr:
            return x.read([n, scaled(frame, step) + j, part]) * w[j, part, k, out]

        return reduce_over("sum", (length, parts), product)

    shape = (x.shape[0], (size - length) // step + 1, *w.shape[2:])
    return compute(call.name, shape, (x, w), body)


def _table(call: Call, length: int, taps: int, parts: int, *, inverse: bool = False, half: bool = False) -> Tensor:
    """(taps, parts in, frequencies or samples, parts out) of the input's dtype: the factor of the real or
    imaginary part of each element in those of each result. Angles are of whole numbers modulo the length, and so exact
    for any of them."""
    if length < 1:
        raise call.unsupported(f"its length is {length}", "give it one of 1 or more")
    bins = length // 2 + 1 if half and not inverse else length
    outputs = 1 if half and inverse else 2
    if taps * parts * bins * outputs > _LARGEST_TABLE:
        raise call.unsupported(
            f"a transform of length {length} takes a table of {taps * parts * bins * outputs} elements",
            "cut the signal into shorter frames, or compute its spectrum outside the model",
        )
    real, sine = turn(length)
    imaginary = sine if inverse else -sine
    circle = np.stack([np.stack([real, imaginary]), np.stack([-imaginary, real])])[:parts, :outputs]
    if inverse:
        circle /= length
    turns = circle.astype(call.input(0).dtype.numpy)
    data = turns[:, :, np.arange(taps)[:, None] * np.arange(bins) % length].transpose(2, 0, 3, 1)
    doubled = inverse and half  # each frequency stands for its conjugate, too, but for the first and the middle one
    if doubled:
        data[1 : (length + 1) // 2] *= 2
    w = constant(f"{call.name}.turns", turns)

    def body(j: Expr, part: Expr, k: Expr, out: Expr) -> Expr:
        value = w[part, out, j * k % length]
        return select((j >= 1) & (j < (length + 1) // 2), value + value, value) if doubled else value

    table = compute(f"{call.name}.table", data.shape, (w,), body)
    return replace(fold(table, np.ascontiguousarray(data)), exact=True)


def _mel_weight_matrix(call: Call) -> Tensor:
    """ONNX MelWeightMatrix, known at compile time: weights [frequencies, bands] of triangles whose edges and peaks are
    equally far apart on the mel scale, each rounded down to a frequency; they are computed in float64."""
    bands, length, rate = (
        _one(call, i, what, 0) for i, what in enumerate(("num_mel_bins", "dft_length", "sample_rate"))
    )
    names = ("lower_edge_hertz", "upper_edge_hertz")
    edges = [(call.floats(i, what) or (0.0,))[0] for i, what in enumerate(names, 3)]
    bins = length // 2 + 1
    if not (bands >= 0 and bins > 0 and bands * bins <= _LARGEST_TABLE and rate > 0):
        raise call.unsupported(
            f"{bands} bands of a transform of length {length} at a sample rate of {rate} are no table",
            "check its inputs",
        )
    with np.errstate(all="ignore"):
        low, high = 2595 * np.log10(1 + np.asarray(edges) / 700)
        mel = np.arange(bands + 2) * ((high - low) / (bands + 2)) + low
        ends = (length + 1) * (700 * (10 ** (mel / 2595) - 1)) // rate
    if not np.all((ends >= 0) & (ends < bins)) or np.any(np.diff(ends) < 0):
        raise call.unsupported(
            f"edges of {edges[0]:g} and {edges[1]:g} Hz are not among the frequencies of a sample rate of {rate}",
            "give the lower edge first, and one of half the sample rate at most",
        )
    dtype = onnx_dtype(call, "output_datatype", 1)
    wide = dtype if dtype.is_float else F32
    places = constant(f"{call.name}.ends", ends.astype(np.int32))
    steps = constant(f"{call.name}.steps", (1 / np.maximum(np.diff(ends), 1)).astype(wide.numpy))

    def weight(k: Expr, band: Expr) -> Expr:
        left, peak, right = (places[band + i,] for i in range(3))
        rising = select((left < k) & (k < peak), (k - left).cast(wide) * steps[band,], 0.0)
        falling = select((peak < k) & (k < right), (right - k).cast(wide) * steps[band + 1,], rising)
        return select(k.eq(peak), 1.0, falling).cast(dtype)

    return compute(call.name, (bins, bands), (places, steps), weight)


def turn(length: int) -> tuple[np.ndarray, np.ndarray]:
    """The cosines and sines of so many angles of a turn, float64; those of quarters of it are whole numbers."""
    steps = np.arange(length)
    angle = 2 * np.pi / length * steps
    quarter, rest = np.divmod(4 * steps, length)
    cosine = np.where(rest == 0, np.array([1.0, 0.0, -1.0, 0.0])[quarter], np.cos(angle))
    return cosine, np.where(rest == 0, np.array([0.0, 1.0, 0.0, -1.0])[quarter], np.sin(angle))


def _parts(call: Call, x: Tensor) -> int:
    """1 of a real signal, 2 of a complex one: the last dimension."""
    parts = call.fixed(x, (x.rank - 1,))[0] if x.rank > 1 else 0
    if parts not in (1, 2):
        raise call.unsupported(
            f"its input has shape {shown(x.shape)}, without a last dimension of 1 (real) or 2 (complex)",
            "check the input shape",
        )
    return parts


def _one(call: Call, index: int, what: str, default: int) -> int:
    """The only element of input `index`, known at compile time; `default` where it is absent."""
    values = call.ints(index, what)
    if values is None:
        return default
    if len(values) != 1:
        raise call.unsupported(f"its input '{what}' has {len(values)} elements, not one", "the model is invalid")
    return values[0]


OPERATORS = {"DFT": _dft, "MelWeightMatrix": _mel_weight_matrix, "STFT": _stft}
