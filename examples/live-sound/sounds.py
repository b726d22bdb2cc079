"""Synthesised sounds that the example's model is trained on: voice, whistles and claps in noise, with labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

RATE, CHUNK = 16000, 512
NAMES = ("voice", "whistle", "clap")
CLAP_CHUNKS = 3
"""A clap is reported for so many chunks, of 32 ms each, from the one in which it begins."""

Array = NDArray[np.float32]


def make_clip(generator: np.random.Generator, chunks: int) -> tuple[Array, Array]:
    """Samples [chunks, CHUNK], about -1 to 1, and labels [chunks, 3] of 0 and 1, in the order of NAMES."""
    length = chunks * CHUNK
    samples = _noise(generator, length)
    labels = np.zeros((chunks, len(NAMES)), np.float32)
    at = int(generator.integers(0, RATE))
    while at < length:
        kind = int(generator.integers(0, len(NAMES)))
        event = (_voice, _whistle, _clap)[kind](generator)[: length - at]
        samples[at : at + len(event)] += event * 10 ** generator.uniform(-1.6, -0.3)
        first, last = at // CHUNK, (at + len(event) - 1) // CHUNK
        if NAMES[kind] == "clap":
            last = min(first + CLAP_CHUNKS - 1, chunks - 1)
        labels[first : last + 1, kind] = 1
        at += len(event) + int(generator.uniform(0.05, 0.9) * RATE)
    return np.clip(samples, -1, 1).astype(np.float32).reshape(chunks, CHUNK), labels


def _noise(generator: np.random.Generator, length: int) -> NDArray[np.float64]:
    """Noise whose power falls with the frequency, or does not, and the hum of the mains."""
    spectrum = np.fft.rfft(generator.standard_normal(length))
    spectrum /= np.maximum(np.arange(len(spectrum)), 20) ** generator.uniform(0, 1)
    noise = np.fft.irfft(spectrum, length)
    noise *= 10 ** generator.uniform(-4, -1.8) / noise.std()
    hum = np.sin(2 * np.pi * 50 * np.arange(length) / RATE + generator.uniform(0, 6))
    return np.asarray(noise + hum * 10 ** generator.uniform(-4, -2))


def _times(seconds: float) -> NDArray[np.float64]:
    return np.arange(int(seconds * RATE)) / RATE


def _faded(sound: NDArray[np.float64], seconds: float) -> NDArray[np.float64]:
    ramp = np.clip(np.arange(len(sound)) / (seconds * RATE), 0, 1)
    return sound * ramp * ramp[::-1]


def _phase(frequency: NDArray[np.float64]) -> NDArray[np.float64]:
    return 2 * np.pi * np.cumsum(frequency) / RATE


def _voice(generator: np.random.Generator) -> NDArray[np.float64]:
    """Harmonics of a wandering pitch, loud near three formants, in syllables."""
    t = _times(generator.uniform(0.3, 1.4))
    glide = generator.uniform(-0.25, 0.25) * t + 0.03 * np.sin(2 * np.pi * generator.uniform(3, 7) * t)
    phase = _phase(generator.uniform(90, 320) * (1 + glide))
    pitch = phase[-1] / (2 * np.pi * t[-1])
    formants = generator.uniform((300, 900, 2200), (850, 2200, 3200))
    sound = np.zeros(len(t))
    for harmonic in range(1, int(4500 / pitch)):
        near = np.exp(-(((harmonic * pitch - formants) / (120, 180, 260)) ** 2)) @ (1.0, 0.6, 0.35)
        sound += (near + 0.06 / harmonic) * np.sin(harmonic * phase + generator.uniform(0, 6))
    syllables = 0.65 + 0.35 * np.sin(2 * np.pi * generator.uniform(2, 6) * t + generator.uniform(0, 6))
    return _faded(sound / np.abs(sound).max() * syllables, 0.03)


def _whistle(generator: np.random.Generator) -> NDArray[np.float64]:
    """One gliding frequency and a little breath."""
    t = _times(generator.uniform(0.2, 1.0))
    glide = generator.uniform(-0.4, 0.4) * t / t[-1] + 0.01 * np.sin(2 * np.pi * generator.uniform(3, 8) * t)
    tone = np.sin(_phase(generator.uniform(700, 3200) * (1 + glide)))
    return _faded(tone + 0.03 * generator.standard_normal(len(t)), 0.02)


def _clap(generator: np.random.Generator) -> NDArray[np.float64]:
    """A burst of noise about one frequency that fades within hundredths of a second, and its echo in the room."""
    t = _times(0.12)
    spectrum = np.fft.rfft(generator.standard_normal(len(t)))
    centre, width = generator.uniform(900, 2800), generator.uniform(600, 1800)
    spectrum *= np.exp(-(((np.fft.rfftfreq(len(t), 1 / RATE) - centre) / width) ** 2))
    burst = np.fft.irfft(spectrum, len(t)) * np.exp(-t / generator.uniform(0.004, 0.02))
    room = 0.1 * np.exp(-t / 0.04) * generator.standard_normal(len(t))
    return np.asarray(burst / np.abs(burst).max() + room)
