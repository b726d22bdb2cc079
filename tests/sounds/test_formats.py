"""Formats of sounds: their names and objects, and inputs that they do not fit."""

from __future__ import annotations

from typing import Any

import pytest
from webnn_compile.dtypes import F32, I64, DType
from webnn_compile.errors import InputError
from webnn_compile.graph.ir import Value
from webnn_compile.ir.nodes import Scalar
from webnn_compile.program.dimensions import Dimension
from webnn_compile.sounds.formats import SOUNDS
from webnn_compile.sounds.take_sounds import fit_sound


def test_every_format_is_valid() -> None:
    for name, form in SOUNDS.named.items():
        form.check(name)
        assert SOUNDS.parse(name) is form


def test_objects() -> None:
    form = SOUNDS.of({"like": "whisper", "mels": 40, "fmax": 7600, "seconds": 2, "fft": 512, "layout": "mel-time"}, "f")
    assert (form.mels, form.top, form.transform, form.log, form.span) == (40, 7600, 512, "log10", 8)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], 'it is no object; give one such as {"like": "whisper"}'),
        ({"hops": 3}, "'hops' is unknown; a format has like, features, rate"),
        ({"like": "wisper"}, 'like is "wisper"; give one of whisper, '),
        ({"features": "mfcc"}, 'features is "mfcc"; give one of waveform, spectrum, mel'),
        ({"rate": 44.1}, "rate is 44.1; it is of another type than 16000"),
        ({"rate": 100}, "rate is 100; give a number from 1000"),
        ({"normalise": 1}, "normalise is 1; it is of another type than false"),
        ({"fft": 256}, "fft is 256; give a number from 400, the frame"),
        ({"window": "flat"}, 'window is "flat"; give one of hann, '),
        ({"fmax": 9000}, "fmax is 9000; give a number above 0, to 8000, half the rate"),
        ({"fmin": 8000}, "fmin is 8000; give a number from 0, below 8000"),
        ({"floor": 0}, "floor is 0; give a number of at least 0, and above 0 where offset is 0"),
        ({"std": 0}, "std is 0; give a number above 0"),
        ({"layout": "mels"}, 'layout is "mels"; give one of time-mel, mel-time'),
        ({"power": 3}, "power is 3; give 1 or 2"),
    ],
)
def test_mistakes(given: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        SOUNDS.of(given, "voice.json")
    assert str(caught.value).startswith(f"voice.json: {message}")


@pytest.mark.parametrize(
    ("shape", "form", "frames", "length", "bands_first"),
    [
        ((1, 80, 3000), {"like": "whisper"}, 3000, 480000, True),
        ((1, 1500, 80), {"like": "whisper"}, 1500, 240000, False),
        ((1, 80, 3000), {"like": "whisper", "seconds": 30}, 3000, 480000, True),
        ((1, 80, 101), {"like": "whisper", "drop_last": False}, 101, 16000, True),
        ((1, 96, 64, 1), {"like": "yamnet"}, 96, 15600, False),
        ((1, 1960), {"like": "yamnet", "mels": 40, "layout": "time-mel"}, 49, 8080, False),
        ((80,), {"like": "kaldi"}, 1, 400, False),
        ((1, 1, 16000), {}, 0, 16000, False),
    ],
    ids=str,
)
def test_layouts(shape: tuple[int, ...], form: Any, frames: int, length: int, bands_first: bool) -> None:
    target = fit_sound(Value("x", shape, F32), SOUNDS.of(form, "f"))
    assert (target.frames, target.length, target.bands_first) == (frames, length, bands_first)


N = Scalar("n", 1000)
DIMENSIONS = (Dimension("n", N),)


@pytest.mark.parametrize(
    ("shape", "dtype", "form", "message"),
    [
        ((1, 80, 30), I64, "whisper", "int64.*fills one of float32 or float16"),
        (
            (1, 64, 30),
            F32,
            "whisper",
            r"has 80 mels in each frame: it fills an input of \[frames, 80\] or \[80, frames\]",
        ),
        ((2, 80, 30), F32, "whisper", "with any dimensions of 1 besides$"),
        ((1, 80, N), F32, "whisper", "fix the input's shape by --shape or --dim"),
        ((1, 80, 80), F32, "whisper", 'leaves their order open: give "layout"'),
        ((1, 800), F32, "kaldi", 'leaves their order open: give "layout"'),
        ((1, 81), F32, "kaldi", r'or \[80 \* frames\] where "layout" says their order'),
        ((1, 80, 3), F32, {"like": "whisper", "layout": "time-mel"}, "it fills an input"),
        ((1, 80, 1), F32, "whisper", "1 frames are too few to be mirrored"),
        (
            (1, 80, 30),
            F32,
            {"like": "whisper", "seconds": 1},
            "1 seconds have 100 frames, the input 30; leave seconds out",
        ),
        ((3, 400), F32, "raw", "a single dimension besides those of 1, its samples$"),
        ((N, 400), F32, "raw", "its samples: fix the others by --shape or --dim"),
        ((1, 400), F32, {"seconds": 1}, "of 1 seconds at 16000 Hz does not fit it"),
        ((1, N), F32, "raw", "has at least one sample: give its least size by --dim n=1..999"),
        ((1, N + 1), F32, "raw", "fills a dimension of one size"),
        ((1, 2**25), F32, "raw", "of 33554432 samples is too long"),
    ],
)
def test_inputs_that_no_sound_fills(shape: tuple[Any, ...], dtype: DType, form: Any, message: str) -> None:
    given = SOUNDS.parse(form) if isinstance(form, str) else SOUNDS.of(form, "f")
    with pytest.raises(InputError, match=rf"^--sound x: .*{message}"):
        fit_sound(Value("x", shape, dtype), given, DIMENSIONS)
