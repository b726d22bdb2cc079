"""Rows of Spectrogram and Waveform."""

from __future__ import annotations

from typing import Any

import numpy as np
from op_cases._arrays import Arrays
from op_table import Array, Case

_X = Arrays(71).normal(50)
_LENGTH = 70


def _waveform(id: str, expected: Array, **attributes: Any) -> Case:
    return Case(f"waveform-{id}", "Waveform", (_X,), attributes, domain="webnn_compile", expected=(expected,))


def _padded(x: Array, count: int) -> Array:
    return np.pad(x, (0, count - len(x)))


def _spectrogram(id: str, pad: str, **attributes: Any) -> Case:
    """Frames of 16 samples, 5 apart, of the sound and the silence behind, in the parts that a transform has of them."""
    sound = _padded(_X.astype(np.float64), _LENGTH)
    window = np.hanning(16)
    before = 0 if pad == "" else 8
    mode = {"mode": "reflect"} if pad == "reflect" else {}
    ends = np.pad(sound, before, **mode) if before else sound  # type: ignore[call-overload]
    frames = np.stack([ends[5 * t : 5 * t + 16] for t in range(11)])
    if attributes.get("centred"):
        frames = frames - frames.mean(axis=1, keepdims=True)
    share = attributes.get("preemphasis", 0.0)
    frames = np.concatenate([frames[:, :1] * (1 - share), frames[:, 1:] - share * frames[:, :-1]], axis=1)
    values = np.abs(np.fft.rfft(frames * window, attributes.get("transform", 16))) ** attributes.get("power", 2)
    if "bands" in attributes:
        weights = np.zeros((values.shape[1], attributes["bands"]))
        for k, band in enumerate(attributes["first"]):
            for at, side in ((band, "rising"), (band - 1, "falling")):
                if 0 <= at < attributes["bands"]:
                    weights[k, at] = attributes[side][k]
        values = values @ weights
    values = np.maximum(values + attributes.get("offset", 0.0), attributes.get("floor", 0.0))
    if "factor" in attributes:
        values = np.log(values) * attributes["factor"]
    if "span" in attributes:
        values = np.maximum(values, values.max() - attributes["span"])
    if attributes.get("silent"):
        values[[5 * t + 16 - before > len(_X) for t in range(11)]] = 0
    values = (values - attributes.get("mean", 0.0)) / attributes.get("std", 1.0)
    given = {
        "frames": 11,
        "hop": 5,
        "length": _LENGTH,
        "window": tuple(window.tolist()),
        "before": before,
        "reflected": int(pad == "reflect"),
    }
    expected = (values.T if attributes.get("bands_first") else values).astype(np.float32)
    return Case(
        f"spectrogram-{id}",
        "Spectrogram",
        (_X,),
        given | attributes,
        domain="webnn_compile",
        expected=(expected,),
        tolerance=1e-4,
    )


_BANDS = {
    "bands": 3,
    "first": (-1, 0, 0, 1, 1, 2, 2, 3, 3),
    "rising": (0.0, 0.25, 0.75, 0.5, 1.0, 0.1, 0.9, 0.0, 0.0),
    "falling": (0.0, 0.0, 0.0, 0.5, 0.0, 0.9, 0.1, 0.5, 0.2),
}

CASES = [
    _waveform("cut", _X * np.float32(2), scale=2.0),
    _waveform("padded", _padded(_X, 60), length=60),
    _waveform("normalised", _padded((_X - _X.mean()) / np.sqrt(_X.var() + 1e-7), 60), length=60, normalised=1),
    _spectrogram("power", ""),
    _spectrogram("magnitude", "zeros", power=1, transform=32),
    _spectrogram("bands", "reflect", bands_first=1, factor=0.43, floor=1e-6, span=2.0, mean=-1.0, std=3.0, **_BANDS),
    _spectrogram("centred", "", centred=1, preemphasis=0.97, silent=1, offset=0.1, factor=1.0, **_BANDS),
]
