"""The bands of a mel spectrum: triangles over frequencies, of which each frequency has a part in two at most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .formats import SoundFormat

Array = np.ndarray


@dataclass(frozen=True, slots=True)
class MelBands:
    """For each frequency of a transform the band that rises there, with how much of the frequency it has, and how much
    the band before has: int32, float64 and float64."""

    first: Array
    rising: Array
    falling: Array
    count: int

    @property
    def weights(self) -> Array:
        """Float64 [frequencies, bands]."""
        weights = np.zeros((len(self.first), self.count))
        for at, share in ((self.first, self.rising), (self.first - 1, self.falling)):
            (of,) = np.nonzero((at >= 0) & (at < self.count))
            weights[of, at[of]] = share[of]
        return weights


def mel_bands(form: SoundFormat) -> MelBands:
    """The bands of a format."""
    to_mel, to_hertz = _SCALES[form.mel_scale]
    low, high = to_mel(np.array([form.fmin, form.top]))
    mels = np.linspace(low, high, form.mels + 2)
    edges = to_hertz(mels)
    at = np.arange(form.transform // 2 + 1) * (form.rate / form.transform)
    places, borders = (to_mel(at), mels) if form.triangles == "mel" else (at, edges)
    first = np.searchsorted(borders, places, side="right") - 1
    inside = (first >= 0) & (first <= form.mels)
    left = np.clip(first, 0, form.mels)
    share = np.where(inside, (places - borders[left]) / (borders[left + 1] - borders[left]), 0.0)
    rising, falling = share, np.where(inside, 1 - share, 0.0)
    if form.mel_norm == "slaney":
        area = np.concatenate(
            ([0.0], 2 / (edges[2:] - edges[:-2]), [0.0])
        )  # of the band before each border, and behind
        rising, falling = rising * area[left + 1], falling * area[left]
    first = np.where(inside, first, -1)
    # Behind the last band there is none that rises, and before the first none that falls.
    return MelBands(first.astype(np.int32), rising, falling, form.mels)


def _slaney(hertz: Array) -> Array:
    above = np.maximum(hertz, 1000.0)
    return np.where(hertz < 1000, hertz * (3 / 200), 15 + 27 / np.log(6.4) * np.log(above / 1000))


def _slaney_hertz(mel: Array) -> Array:
    return np.where(mel < 15, mel * (200 / 3), 1000 * np.exp((mel - 15) * np.log(6.4) / 27))


def _htk(hertz: Array) -> Array:
    return 2595 * np.log10(1 + hertz / 700)


def _htk_hertz(mel: Array) -> Array:
    return 700 * (10 ** (mel / 2595) - 1)


_SCALES = {"slaney": (_slaney, _slaney_hertz), "htk": (_htk, _htk_hertz)}
