"""Rows of DFT, STFT and MelWeightMatrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from op_cases._arrays import Arrays, scalar
from op_table import Array, Case

_a = Arrays(55)
_x = _a.normal


def _dft(
    id: str, x: Array, length: int | None = None, axis: int | None = None, *, opset: int = 20, **attributes: Any
) -> Case:
    """The axis is an input from opset 20 on."""
    given = [None if n is None else scalar(n, "int64") for n in ((length, axis) if opset >= 20 else (length,))]
    while given and given[-1] is None:  # onnxruntime reads one that is there but has no name
        given.pop()
    attributes |= {} if opset >= 20 or axis is None else {"axis": axis}
    return Case(f"dft-{id}", "DFT", (x, *given), attributes, opset, frozenset(range(1, len(given) + 1)))


def _stft(id: str, x: Array, step: int, window: Array | None, length: int | None, **attributes: Any) -> Case:
    inputs = (x, scalar(step, "int64"), window, *(() if length is None else (scalar(length, "int64"),)))
    return Case(f"stft-{id}", "STFT", inputs, attributes, 17, frozenset({1, 2, 3}))


def _mel(id: str, bands: int, length: int, rate: int, low: float, high: float, **attributes: Any) -> Case:
    inputs = (*(scalar(n, "int64") for n in (bands, length, rate)), scalar(low), scalar(high))
    return Case(f"melweightmatrix-{id}", "MelWeightMatrix", inputs, attributes, 17, frozenset(range(5)))


_HALF, _LONG = _x(2, 5, 2), _x(1, 1000, 1)


def _pairs(spectrum: Array) -> Array:
    return np.stack([spectrum.real, spectrum.imag], -1).astype(np.float32)


CASES = [
    _dft("real", _x(2, 16, 1)),
    _dft("complex", _x(2, 15, 2)),
    _dft("inverse", _x(2, 12, 2), inverse=1),
    _dft("inverse-real", _x(1, 9, 1), inverse=1),
    _dft("onesided", _x(3, 16, 1), None, 1, onesided=1),
    _dft("onesided-odd", _x(3, 13, 1), None, 1, onesided=1),
    _dft("padded", _x(2, 9, 1), 16, onesided=1),
    _dft("cut", _x(2, 20, 2), 11),
    _dft("axis", _x(2, 5, 7, 2), None, 1),
    _dft("axis-first", _x(6, 3, 1), None, 0),
    _dft("axis-negative", _x(2, 5, 7, 1), 8, -3, inverse=1),
    _dft("one-sample", _x(3, 1, 2)),
    Case(
        "dft-long",
        "DFT",
        (_LONG,),
        {"onesided": 1},
        20,
        expected=(_pairs(np.fft.rfft(_LONG[..., 0])),),  # onnxruntime, by way of powers of two, errs by 1e-4
    ),
    _dft("float64", _x(2, 10, 2).astype(np.float64)),
    _dft("opset-17", _x(2, 10, 1), opset=17),
    _dft("opset-17-axis", _x(2, 4, 10, 2), 12, 2, opset=17, inverse=1),
    *(
        Case(
            f"dft-irfft-{n}",
            "DFT",
            (_HALF, scalar(n, "int64")),
            {"inverse": 1, "onesided": 1},
            20,
            frozenset({1}),
            expected=(np.fft.irfft(_HALF[..., 0] + 1j * _HALF[..., 1], n)[..., None].astype(np.float32),),
        )
        for n in (8, 9, 6, 12)
    ),
    _stft("window", _x(2, 64, 1), 8, _a.uniform(0, 1, 16), 16),
    _stft("window-alone", _x(1, 50, 1), 7, _a.uniform(0, 1, 15), None, onesided=1),
    _stft("no-window", _x(1, 40, 1), 5, None, 12, onesided=0),
    _stft("complex", _x(1, 40, 2), 6, _a.uniform(0, 1, 10), 10, onesided=0),
    Case(
        "stft-window-run-time", "STFT", (_x(1, 30, 1), scalar(4, "int64"), _a.uniform(0, 1, 8)), {}, 17, frozenset({1})
    ),
    _mel("speech", 40, 512, 16000, 20, 8000),
    _mel("odd", 7, 33, 8192, 0, 4000),
    _mel("more-bands-than-frequencies", 20, 16, 8192, 0, 4096),
    _mel("float64", 8, 64, 8000, 100, 3900, output_datatype=11),
    _mel("int32", 8, 16, 8192, 0, 4096, output_datatype=6),
]
