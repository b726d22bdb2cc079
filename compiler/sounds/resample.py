"""Sounds at another rate: a sinc of six zero crossings under Hann's window, as torchaudio's `resample` by default; the
runtime does the same in a page (`runtime-js/values/sounds.js`)."""

from __future__ import annotations

import math

import numpy as np

Array = np.ndarray

CROSSINGS = 6
ROLLOFF = 0.99


def resample(samples: Array, rate: int, to: int) -> Array:
    """Samples at a rate as those at another, float64; what is beyond the ends is silence."""
    if rate == to:
        return samples.astype(np.float64)
    divisor = math.gcd(rate, to)
    a, b = rate // divisor, to // divisor
    share = min(a, b) * ROLLOFF / a  # of the band
    width = math.ceil(CROSSINGS / share)
    count = -(-len(samples) * b // a)
    padded = np.concatenate([np.zeros(width), samples, np.zeros(width + 1)])
    at, phase = np.divmod(np.arange(count) * a, b)
    result = np.zeros(count)
    phases = np.arange(b) / b
    for tap in range(-width, width + 1):
        t = np.clip((tap - phases) * share, -CROSSINGS, CROSSINGS)
        factor = np.sinc(t) * np.cos(t * (np.pi / CROSSINGS / 2)) ** 2 * share
        result += padded[at + (width + tap)] * factor[phase]
    return result
