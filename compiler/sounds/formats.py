"""Formats of sounds: how samples become the elements of an input. One table has those of common families of models."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from ..errors import InputError
from ..formats.formats import Formats

LOGS: Mapping[str, float] = {"none": 0.0, "ln": 1.0, "log10": 1 / math.log(10), "dB": 10 / math.log(10)}
"""By what natural logarithms of powers are multiplied."""

RATES = (1000, 384000)
"""Samples in a second, at least and at most."""

MOST = 2**24
"""Samples of a sound, at most; 16 minutes at 16 kHz."""

_LONGEST = 2**13
"""Samples of a frame and of a Fourier transform, at most."""


def _hann(n: int, period: int) -> np.ndarray:
    return 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n) / period)


def _hamming(n: int, period: int) -> np.ndarray:
    return 0.54 - 0.46 * np.cos(2 * np.pi * np.arange(n) / period)


WINDOWS: Mapping[str, Callable[[int], np.ndarray]] = {
    "hann": lambda n: _hann(n, n),
    "hann-symmetric": lambda n: _hann(n, max(n - 1, 1)),
    "hamming": lambda n: _hamming(n, n),
    "hamming-symmetric": lambda n: _hamming(n, max(n - 1, 1)),
    "povey": lambda n: _hann(n, max(n - 1, 1)) ** 0.85,
    "rectangular": np.ones,
}
"""By name, float64 of so many samples; those that are not symmetric are periodic."""

CHOICES: Mapping[str, tuple[str | None, ...]] = {
    "features": ("waveform", "spectrum", "mel"),
    "window": tuple(WINDOWS),
    "pad": ("none", "reflect", "zeros"),
    "mel_scale": ("slaney", "htk"),
    "mel_norm": ("none", "slaney"),
    "triangles": ("hertz", "mel"),
    "log": tuple(LOGS),
    "layout": (None, "time-mel", "mel-time"),
}
"""Values of fields that have a few."""


@dataclass(frozen=True, slots=True)
class SoundFormat:
    """Samples are those of `rate` in a second, of one channel, multiplied by `scale`, and with `normalise` made of mean
    0 and variance 1.

    `features`: "waveform", "spectrum" (frequencies from 0 to half the rate) or "mel" (`mels` bands from `fmin` to
    `fmax` Hz, None for half the rate, on a `mel_scale` "slaney" or "htk", whose `triangles` are straight over "hertz"
    or over "mel", and with `mel_norm` "slaney" have the same area). Frames of `frame` samples, `hop` apart, have their
    mean removed (`remove_mean`), are less `preemphasis` times the sample before, multiplied by `window`, and
    transformed with `fft` samples, None for `frame`. With `pad` "reflect" or "zeros" the middle of the first frame is
    the first sample, else its beginning. `drop_last`: the last frame is left out. Elements are (log(max(p + `offset`,
    `floor`)) - `mean`) / `std`, p a magnitude to the `power`; `log`: "none", "ln", "log10" or "dB"; with `span` the
    logarithm is at least the largest of all less that. Shorter sounds are filled up by silence, or with `silent_frames`
    by frames whose logarithm is 0.

    `layout`, "time-mel" or "mel-time", is needed where the input's shape leaves both open. `seconds`, where a format
    has them, must be what the input has: one that was written for another model is refused.
    """

    features: str = "waveform"
    rate: int = 16000
    scale: float = 1.0
    normalise: bool = False
    frame: int = 400
    hop: int = 160
    fft: int | None = None
    window: str = "hann"
    pad: str = "none"
    drop_last: bool = False
    remove_mean: bool = False
    preemphasis: float = 0.0
    power: int = 2
    mels: int = 80
    fmin: float = 0.0
    fmax: float | None = None
    mel_scale: str = "slaney"
    mel_norm: str = "none"
    triangles: str = "hertz"
    log: str = "ln"
    offset: float = 0.0
    floor: float = 1e-10
    span: float = 0.0
    mean: float = 0.0
    std: float = 1.0
    silent_frames: bool = False
    layout: str | None = None
    seconds: float | None = None

    @property
    def transform(self) -> int:
        return self.fft or self.frame

    @property
    def top(self) -> float:
        """The highest frequency."""
        return self.rate / 2 if self.fmax is None else self.fmax

    @property
    def bands(self) -> int:
        """Elements of a frame."""
        return self.mels if self.features == "mel" else self.transform // 2 + 1

    @property
    def before(self) -> int:
        """Samples of the first frame before the sound."""
        return 0 if self.pad == "none" else self.frame // 2

    def check(self, where: str) -> None:
        """Raises InputError, which names `where` the format is from."""
        numbers = ("scale", "preemphasis", "fmin", "offset", "floor", "span", "mean", "std")
        problems = {name: (math.isfinite(getattr(self, name)), "a finite number") for name in numbers}
        least = self.offset + self.floor
        problems |= {name: _one_of(getattr(self, name), choices) for name, choices in CHOICES.items()}
        problems |= {
            "rate": (RATES[0] <= self.rate <= RATES[1], f"a number from {RATES[0]} to {RATES[1]}"),
            "scale": (0 < self.scale < math.inf, "a number above 0"),
            "frame": (2 <= self.frame <= _LONGEST, f"a number from 2 to {_LONGEST}"),
            "hop": (1 <= self.hop <= 2**20, f"a number from 1 to {2**20}"),
            "fft": (self.frame <= self.transform <= _LONGEST, f"a number from {self.frame}, the frame, to {_LONGEST}"),
            "power": (self.power in (1, 2), "1 or 2"),
            "mels": (1 <= self.mels <= 1024, "a number from 1 to 1024"),
            "fmin": (0 <= self.fmin < self.top, f"a number from 0, below {self.top:g}, the highest frequency"),
            "fmax": (0 < self.top <= self.rate / 2, f"a number above 0, to {self.rate / 2:g}, half the rate"),
            "offset": (0 <= self.offset < math.inf, "a number of at least 0"),
            "floor": (
                0 <= self.floor < math.inf and (self.log == "none" or least >= 1e-30),
                "a number of at least 0, and above 0 where offset is 0",
            ),
            "span": (0 <= self.span < math.inf, "a number of at least 0"),
            "std": (0 < self.std < math.inf, "a number above 0"),
            "seconds": (self.seconds is None or 0 < self.seconds < MOST, "a number above 0"),
        }
        for name, (valid, expected) in problems.items():
            if not valid:
                raise InputError(f"{where}: {name} is {json.dumps(getattr(self, name))}; give {expected}")


def _one_of(value: object, choices: tuple[str | None, ...]) -> tuple[bool, str]:
    return value in choices, f"one of {', '.join(str(c) for c in choices if c is not None)}"


_WHISPER = SoundFormat(
    "mel",
    pad="reflect",
    drop_last=True,
    mel_norm="slaney",
    log="log10",
    span=8.0,
    mean=-4.0,
    std=4.0,
)
_KALDI = SoundFormat(
    "mel",
    scale=2.0**15,
    fft=512,
    window="povey",
    remove_mean=True,
    preemphasis=0.97,
    fmin=20.0,
    mel_scale="htk",
    triangles="mel",
    floor=2.0**-23,
)
_YAMNET = SoundFormat(
    "mel",
    fft=512,
    power=1,
    mels=64,
    fmin=125.0,
    fmax=7500.0,
    mel_scale="htk",
    triangles="mel",
    offset=0.001,
    floor=0.0,
)
FORMATS: Mapping[str, SoundFormat] = {
    "whisper": _WHISPER,
    "whisper-large-v3": replace(_WHISPER, mels=128),
    "raw": SoundFormat(),
    "wav2vec2": SoundFormat(normalise=True),
    "basic-pitch": SoundFormat(rate=22050),
    "yamnet": _YAMNET,
    "vggish": replace(_YAMNET, offset=0.01),
    "kaldi": _KALDI,
    "ast": replace(
        _KALDI,
        scale=1.0,
        window="hann-symmetric",
        mels=128,
        mean=-4.2677393,
        std=2 * 4.5689974,
        silent_frames=True,
    ),
}
"""Families of models by name: speech recognition, from mel spectra and from waveforms; notes of music; events by YAMNet
and VGGish; filter banks as Kaldi has them, and of the Audio Spectrogram Transformer."""

SoundLike = str | Mapping[str, object] | SoundFormat
"""A format, its name or the path of its file, or an object of JSON."""

SOUNDS = Formats("sounds", FORMATS, "raw", CHOICES)
