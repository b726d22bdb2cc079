"""Sounds as the inputs of models: waveforms of any length cut to one, and the spectra of their frames.

Samples behind a sound's end are silence. What is between is float32 under `--precision f16`, too: a spectrum spans more
magnitudes than float16 has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ...dtypes import F32
from ...ir.construct import maximum, minimum, select, unary
from ...ir.nodes import Expr
from ...ir.sizes import Size, least, number, reciprocal, shown
from ...tensor import Tensor, compute, constant
from ...tensor.fold_tensor import fold
from ..call import Call
from ..products.fourier import turn
from ..reductions.reduce_axes import reduce_over
from ..window import scaled, shifted

VARIANCE = 1e-7
"""Added to a variance before it divides."""

LARGEST = 2**20
"""Frames, bands and the length of a transform at most."""


def _exact(
    call: Call, what: str, shape: Sequence[Size], reads: tuple[Tensor | None, ...], body: Callable[..., Expr]
) -> Tensor:
    """Tensor on the way to the result, float32 in memory."""
    return replace(compute(f"{call.name}.{what}", shape, reads, body), exact=True)


def _waveform(call: Call) -> Tensor:
    """Samples [length] of those of a sound, times `scale`, and silence behind: attribute `length`, 0 for as many as
    there are. With `normalised` 1 the sound has a mean of 0 and a variance of 1 before."""
    x = _samples(call)
    (n,) = x.shape
    length = call.attribute("length", 0)
    if not call.flag("normalised", 0):
        scale = call.attribute("scale", 1.0)
        return compute(call.name, (length or n,), (x,), lambda i: _sample(x, i) * scale)
    share = reciprocal(n, F32)
    mean = _exact(call, "mean", (), (x,), lambda: reduce_over("sum", (n,), lambda i: x[i,] * share))

    def square(i: Expr) -> Expr:
        away = x[i,] - mean[()]
        return away * away * share

    variance = _exact(call, "variance", (), (x, mean), lambda: reduce_over("sum", (n,), square))
    deviation = _exact(call, "deviation", (), (variance,), lambda: unary("sqrt", variance[()] + VARIANCE))

    def element(i: Expr) -> Expr:
        value = (_sample(x, i) - mean[()]) / deviation[()]
        return select(i < number(n), value, 0.0) if length else value

    return compute(call.name, (length or n,), (x, mean, deviation), element)


def _spectrogram(call: Call) -> Tensor:
    """Logarithms of a sound's powers [frames, bands], or [bands, frames] with `bands_first` 1.

    Frames are `hop` samples apart, the first begins `before` samples ahead of the sound, which has `length` samples,
    mirrored at its ends with `reflected` 1. They are multiplied by `window` and transformed, by a Fourier transform of
    length `transform`; further attributes say what becomes of a frame's samples (`_frames`), of its magnitudes
    (`_energies`), and of these (`_logarithms`).
    """
    x = _samples(call)
    window = np.array(call.attribute("window", (1.0,)), np.float32)
    frames, transform = _number(call, "frames", 1), _number(call, "transform", window.size)
    bins = transform // 2 + 1
    framed = _frames(call, x, frames, window.size)
    circle = constant(f"{call.name}.turns", np.stack(turn(transform)).astype(np.float32))
    shape = constant(f"{call.name}.window", window)

    def factor(j: Expr, k: Expr) -> Expr:
        """Factor of sample `j` in the real parts of all frequencies, and in the imaginary ones behind these."""
        return circle[k // bins, j * (k % bins) % transform] * shape[j,]

    table = compute(f"{call.name}.table", (window.size, 2 * bins), (circle, shape), factor)
    factors = replace(fold(table), exact=True)

    def part(t: Expr, k: Expr) -> Expr:
        return reduce_over("sum", (window.size,), lambda j: framed[t, j] * factors[j, k])

    parts = _exact(call, "parts", (frames, 2 * bins), (framed, factors), part)
    return _logarithms(call, x, _energies(call, parts, bins))


def _number(call: Call, name: str, default: int, lowest: int = 1) -> int:
    """An attribute that says how many there are of something. Raises UnsupportedError."""
    value = call.attribute(name, default)
    if not lowest <= value <= LARGEST:
        raise call.unsupported(f"attribute {name} is {value}", f"give {lowest} to {LARGEST}")
    return value


def _frames(call: Call, x: Tensor, frames: int, taps: int) -> Tensor:
    """The samples [frames, taps]; with `centred` 1 each frame has a mean of 0, and then each sample is less than it was
    by the share `preemphasis` of the one before."""
    hop, before, length = (call.attribute(name, 0) for name in ("hop", "before", "length"))
    share, reflected = call.attribute("preemphasis", 0.0), call.flag("reflected", 0)

    def at(t: Expr, j: Expr) -> Expr:
        i = shifted(scaled(t, hop) + j, -before)
        if reflected:
            i = length - 1 - unary("abs", length - 1 - unary("abs", i))
        return _sample(x, i, first=before > 0 and not reflected)

    def total(t: Expr) -> Expr:
        return reduce_over("sum", (taps,), lambda j: at(t, j) * (1 / taps))

    mean = _exact(call, "mean", (frames,), (x,), total) if call.flag("centred", 0) else None

    def element(t: Expr, j: Expr) -> Expr:
        value = at(t, j)
        if share:
            value = value - at(t, maximum(j - 1, 0)) * share
        return value if mean is None else value - mean[t,] * (1 - share)

    return _exact(call, "frames", (frames, taps), (x, mean), element)


def _energies(call: Call, parts: Tensor, bins: int) -> Tensor:
    """Magnitudes, of which `power` is 1, or their squares, in bands: `first` is by frequency the band that rises there,
    `rising` how much of the frequency it has, `falling` how much the band before has. Without `bands` each frequency
    is one."""
    frames, bands = parts.shape[0], _number(call, "bands", 0, lowest=0)

    def power(t: Expr, k: Expr) -> Expr:
        real, imaginary = parts[t, k], parts[t, k + bins]
        square = real * real + imaginary * imaginary
        return square if call.attribute("power", 2) == 2 else unary("sqrt", square)

    powers = _exact(call, "power", (frames, bins), (parts,), power)
    if not bands:
        return powers
    bands_of = call.attribute("first", (0,))
    shares = [call.attribute(side, (0.0,)) for side in ("rising", "falling")]
    if any(len(values) != bins for values in (bands_of, *shares)) or not all(-1 <= b <= bands for b in bands_of):
        raise call.unsupported(
            "attributes first, rising and falling do not describe bands", f"give one of each for {bins} frequencies"
        )
    first = constant(f"{call.name}.first", np.array(bands_of, np.int32))
    rising, falling = (
        constant(f"{call.name}.{side}", np.array(values, np.float32))
        for side, values in zip(("rising", "falling"), shares, strict=True)
    )

    def weight(k: Expr, band: Expr) -> Expr:
        before = select(band.eq(first[k,] - 1), falling[k,], 0.0)
        return select(band.eq(first[k,]), rising[k,], before)

    table = compute(f"{call.name}.weights", (bins, bands), (first, rising, falling), weight)
    weights = replace(fold(table), exact=True)

    def energy(t: Expr, band: Expr) -> Expr:
        return reduce_over("sum", (bins,), lambda k: powers[t, k] * weights[k, band])

    return _exact(call, "energy", (frames, bands), (powers, weights), energy)


def _logarithms(call: Call, x: Tensor, energies: Tensor) -> Tensor:
    """(log(max(energy + `offset`, `floor`)) * `factor` - `mean`) / `std`; the logarithm, for which `factor` 0 has the
    energy itself, is at least the largest of all less `span`, 0 for any. With `silent` 1 it is 0 of frames that
    reach behind the end of the sound."""
    frames, bands = energies.shape
    factor, span = call.attribute("factor", 0.0), call.attribute("span", 0.0)

    def logarithm(t: Expr, band: Expr) -> Expr:
        value = maximum(energies[t, band] + call.attribute("offset", 0.0), call.attribute("floor", 0.0))
        return unary("log", value) * factor if factor else value

    logs = _exact(call, "log", (frames, bands), (energies,), logarithm)
    top = None
    if span:
        top = _exact(call, "largest", (), (logs,), lambda: reduce_over("max", (frames, bands), lambda *i: logs.read(i)))
    swapped = call.flag("bands_first", 0)
    behind = call.attribute("hop", 1), len(call.attribute("window", (1.0,))) - call.attribute("before", 0)

    def element(*i: Expr) -> Expr:
        t, band = i[::-1] if swapped else i
        value = logs[t, band]
        if top is not None:
            value = maximum(value, top[()] - span)
        if call.flag("silent", 0):
            value = select(scaled(t, behind[0]) + behind[1] <= number(x.shape[0]), value, 0.0)
        return (value - call.attribute("mean", 0.0)) / call.attribute("std", 1.0)

    return compute(call.name, (bands, frames) if swapped else (frames, bands), (logs, top), element)


def _samples(call: Call) -> Tensor:
    call.check_dtypes((0,), F32)
    x = call.input(0, (None,))
    if not least(x.shape[0]):
        raise call.unsupported(f"a sound of {shown(x.shape)} may have no samples", "set its least size to 1")
    return x


def _sample(x: Tensor, i: Expr, *, first: bool = False) -> Expr:
    """The sample, and silence behind the last, and before the first one where `first` says that it is read."""
    last = number(x.shape[0]) - 1
    inside, at = i <= last, minimum(i, last)
    if first:
        inside, at = (i >= 0) & inside, maximum(at, 0)
    return select(inside, x[at,], 0.0)


OPERATORS = {"Spectrogram": _spectrogram, "Waveform": _waveform}
