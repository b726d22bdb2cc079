"""The elements of a sound by NumPy: what compiled models compute, for calibration, references and tests."""

from __future__ import annotations

import wave
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import InputError
from ..ops.sampling.sound import VARIANCE
from .formats import LOGS, RATES
from .mel_bands import mel_bands
from .resample import resample
from .take_sounds import SoundInput

Array = np.ndarray


@dataclass(frozen=True, slots=True)
class Sound:
    """Samples from -1 to 1, float64 [samples], or [samples, channels], `rate` of them in a second."""

    samples: Array
    rate: int


def open_sound(file: Path) -> Sound:
    """The sound in a .wav file of integers. Raises InputError for what is none."""
    try:
        with wave.open(str(file), "rb") as opened:
            width, channels, rate = opened.getsampwidth(), opened.getnchannels(), opened.getframerate()
            data = opened.readframes(opened.getnframes())
    except (OSError, EOFError, wave.Error) as error:
        raise InputError(f"{file} cannot be read as a sound ({error}); save it as WAV of 16 bits (PCM)") from None
    data = data[: len(data) // (width * channels) * (width * channels)]
    if width == 1:
        values = np.frombuffer(data, np.uint8).astype(np.float64) / 128 - 1
    else:
        # The highest bytes of words of 32 bits.
        words = np.zeros((len(data) // width, 4), np.uint8)
        words[:, 4 - width :] = np.frombuffer(data, np.uint8).reshape(-1, width)
        values = words.view("<i4")[:, 0] / 2.0**31
    return Sound(values.reshape(-1, channels), rate)


def prepare(sound: Sound, target: SoundInput) -> Array:
    """The input that a sound fills: an array of its shape and dtype. Raises InputError for samples that are none."""
    return prepare_samples(samples_of(sound, target), target)


def samples_of(sound: Sound, target: SoundInput) -> Array:
    """Samples that a run takes of a sound: float32 of one channel, the mean of all, at the format's rate, cut to the
    longest that there may be, and with silence behind as the model's sizes need it. Raises InputError."""
    samples = np.asarray(sound.samples, np.float64)
    if samples.ndim == 2:
        samples = samples.mean(axis=1)
    if samples.ndim != 1 or not samples.size:
        raise InputError(
            f"a sound has samples [samples] or [samples, channels], at least one; these are {list(samples.shape)}"
        )
    if not np.isfinite(samples).all():
        raise InputError("the sound has samples that are NaN or infinite; replace them")
    if not RATES[0] <= sound.rate <= RATES[1]:
        raise InputError(f"a sound's rate is from {RATES[0]} to {RATES[1]} samples in a second, not {sound.rate}")
    samples = resample(samples, sound.rate, target.format.rate)[: target.length]
    needed = max(target.samples.least, -(-len(samples) // target.samples.multiple) * target.samples.multiple)
    return np.pad(samples, (0, needed - len(samples))).astype(np.float32)


def prepare_samples(samples: Array, target: SoundInput) -> Array:
    """The input that samples of a run fill."""
    values = samples.astype(np.float64)
    made = _spectrum(values, target) if target.frames else _waveform(values, target)
    shape = [made.size if not isinstance(n, int) else n for n in target.value.shape]
    return np.ascontiguousarray(made.reshape(shape), target.value.dtype.numpy)


def _waveform(samples: Array, target: SoundInput) -> Array:
    if target.format.normalise:
        samples = (samples - samples.mean()) / np.sqrt(samples.var() + VARIANCE)
    else:
        samples = samples * target.format.scale
    return samples if target.varies else np.pad(samples, (0, target.length - len(samples)))


def _spectrum(samples: Array, target: SoundInput) -> Array:
    form = target.format
    sound = np.pad(samples, (0, target.length - len(samples)))
    places = np.arange(target.frames)[:, None] * form.hop + np.arange(form.frame) - form.before
    if form.pad == "reflect":
        frames = sound[(target.length - 1) - np.abs((target.length - 1) - np.abs(places))]
    else:
        frames = np.where((places >= 0) & (places < target.length), sound[np.clip(places, 0, target.length - 1)], 0.0)
    if form.remove_mean:
        frames = frames - frames.mean(axis=1, keepdims=True)
    frames = frames - form.preemphasis * np.concatenate([frames[:, :1], frames[:, :-1]], axis=1)
    values = np.abs(np.fft.rfft(frames * target.window, form.transform)) ** form.power
    if form.features == "mel":
        values = values @ mel_bands(form).weights
    values = np.maximum(values + form.offset, form.floor)
    if form.log != "none":
        values = np.log(values) * (LOGS[form.log] * (2 / form.power if form.log == "dB" else 1))
    if form.span:
        values = np.maximum(values, values.max() - form.span)
    if form.silent_frames:
        ends = np.arange(target.frames) * form.hop + form.frame - form.before
        values = np.where((ends <= len(samples))[:, None], values, 0.0)
    values = (values - form.mean) / form.std
    return values.T if target.bands_first else values
