"""Compiled models prepare sounds as the packages do with whose features models are trained, on every target.

Whisper's formulas, and those of bands, are written here once more, from frames and single filters; figures of the
packages themselves stand in `test_figures`.
"""

from __future__ import annotations

import wave
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from onnx_models import model, node
from webnn_compile.dtypes import F32, from_numpy
from webnn_compile.errors import InputError
from webnn_compile.graph.ir import Value
from webnn_compile.ir.nodes import Scalar
from webnn_compile.program.dimensions import Dimension
from webnn_compile.sounds.formats import SOUNDS, SoundLike
from webnn_compile.sounds.mel_bands import mel_bands
from webnn_compile.sounds.prepare import Sound, open_sound, prepare, prepare_samples, samples_of
from webnn_compile.sounds.resample import resample
from webnn_compile.sounds.take_sounds import SoundInput, fit_sound

Array = np.ndarray

TINY = {"like": "whisper", "rate": 8000, "frame": 200, "hop": 80, "mels": 24, "fmax": 4000}
"""Whisper's features, of fewer and shorter frames."""


def identity(shape: tuple[int | str, ...], dtype: Any = np.float32) -> onnx.ModelProto:
    """A model whose output is its input."""
    kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    return model([node("Identity", ["x"], ["y"])], {"x": shape}, {"y": kind}, {}, dtype=kind)


def sound_of(count: int, rate: int = 16000, seed: int = 0) -> Sound:
    """Tones over noise that becomes silent."""
    generator = np.random.default_rng(seed)
    t = np.arange(count) / rate
    tones = 0.3 * np.sin(2 * np.pi * 440 * t) + 0.1 * np.sin(2 * np.pi * 1234.5 * t + 1)
    return Sound(tones + generator.normal(0, 0.05, count) * np.linspace(1, 0.05, count), rate)


def target_of(shape: tuple[int, ...], form: SoundLike, dtype: Any = np.float32) -> SoundInput:
    return fit_sound(Value("x", shape, from_numpy(np.dtype(dtype))), SOUNDS.by_input({"x": form})["x"])


@pytest.mark.parametrize("target", webnn_compile.TARGETS)
@pytest.mark.parametrize(("form", "shape"), [(TINY, (1, 24, 60)), ("wav2vec2", (1, 4000))], ids=["mel", "waveform"])
def test_targets(form: SoundLike, shape: tuple[int, ...], target: str) -> None:
    """Sounds that are shorter than a frame, than the format, as long, and longer."""
    need_driver(target)
    compiled = webnn_compile.compile(identity(shape), target, sounds={"x": form})
    assert compiled.backend == target
    ready = target_of(shape, form)
    for seed, count in enumerate((1, 90, 2711, ready.length, 6000)):
        samples = samples_of(sound_of(count, ready.format.rate, seed), ready)
        got = compiled.run({"x": samples})["y"]
        np.testing.assert_allclose(got, prepare_samples(samples, ready), atol=1e-4, err_msg=str(count))


@pytest.mark.parametrize(
    ("form", "shape", "dtype"),
    [
        ("whisper", (1, 80, 50), np.float32),
        ("whisper-large-v3", (1, 50, 128), np.float16),
        ("yamnet", (1, 96, 64), np.float32),
        ("vggish", (1, 1, 96, 64), np.float32),
        ("kaldi", (1, 49, 80), np.float32),
        ("ast", (1, 60, 128), np.float32),
        ("raw", (1, 1, 800), np.float16),
        ("basic-pitch", (1, 3000, 1), np.float32),
        (
            {"features": "spectrum", "frame": 64, "hop": 32, "pad": "zeros", "log": "dB", "span": 80},
            (33, 20),
            np.float32,
        ),
        ({"like": "yamnet", "mels": 40, "frame": 480, "hop": 320, "layout": "time-mel"}, (1, 1960), np.float32),
        ({**TINY, "mels": 20, "layout": "mel-time", "log": "none", "mean": 0}, (1, 20, 20), np.float32),
    ],
    ids=str,
)
def test_formats(form: SoundLike, shape: tuple[int, ...], dtype: Any) -> None:
    for target in ("native", "wasm"):
        compiled = webnn_compile.compile(identity(shape, dtype), target, sounds={"x": form})
        ready = target_of(shape, form, dtype)
        for count in (ready.length // 2 + 1, ready.length + 5):
            samples = samples_of(sound_of(count, ready.format.rate), ready)
            want, got = prepare_samples(samples, ready), compiled.run({"x": samples})["y"]
            assert (got.dtype, got.shape) == (want.dtype, want.shape)
            tolerance = 1e-4 if dtype == np.float32 else 2e-3
            np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance, err_msg=f"{target} {count}")


def chirp(count: int, rate: int = 16000) -> Sound:
    t = np.arange(count) / rate
    tones = 0.3 * np.sin(2 * np.pi * 440 * t) + 0.1 * np.sin(2 * np.pi * 1234.5 * t + 1)
    return Sound(tones + 0.05 * np.sin(2e4 * t * t), rate)


@pytest.mark.parametrize(
    ("form", "shape", "figures", "mean"),
    [
        ("whisper", (1, 80, 3000), (0.89071, -0.65249, 0.02615, -0.65249, -0.65249), -0.646419),
        ("whisper-large-v3", (1, 128, 3000), (0.81495, -0.60536, -0.38895, -0.60536, -0.60536), -0.600131),
        ("ast", (1, 1024, 128), (-0.10221, -1.27759, -1.22761, 0.30703, 0.46703), 0.40864),
        ("kaldi", (1, 48, 80), (15.87374, -2.47211, 14.43241, 12.25106, -2.37843), 8.39753),
    ],
)
def test_figures(form: str, shape: tuple[int, ...], figures: tuple[float, ...], mean: float) -> None:
    """Elements that transformers 5.24 and torchaudio 2 (`kaldi.fbank`, of float64) make of half a second."""
    got = prepare(chirp(8000), target_of(shape, form))[0]
    np.testing.assert_allclose(got[[0, 0, 3, 3, -1], [0, -1, 5, 20, -1]], figures, atol=2e-4)
    assert got.mean() == pytest.approx(mean, abs=1e-5)


@pytest.mark.parametrize(
    ("rate", "to", "count", "figures"),
    [
        (44100, 16000, 1452, (0.0644908, 0.15646157, 0.41470247, -0.04444153)),
        (8000, 16000, 8000, (0.08415882, 0.14649117, 0.41466283, 0.02805987)),
        (48000, 22050, 1838, (0.06612203, 0.14016041, 0.06983563, -0.16866033)),
    ],
)
def test_rates(rate: int, to: int, count: int, figures: tuple[float, ...]) -> None:
    """Samples that torchaudio's `resample` makes."""
    got = resample(chirp(4000, rate).samples, rate, to)
    assert got.shape == (count,)
    np.testing.assert_allclose(got[[0, 1, 700, -1]], figures, atol=1e-7)


def bands_of(count: int, edges: Array, frequencies: Array) -> Array:
    """Triangles between each edge and the next but one: [frequencies, bands]."""
    rows = []
    for left, middle, right in zip(edges[:-2], edges[1:-1], edges[2:], strict=True):
        up, down = (frequencies - left) / (middle - left), (right - frequencies) / (right - middle)
        rows.append(np.maximum(0, np.minimum(up, down)))
    assert len(rows) == count
    return np.stack(rows, axis=1)


def test_whisper() -> None:
    """Frames around each multiple of the hop, of a sound that is mirrored; Slaney's bands of the same area."""
    ready = target_of((1, 80, 3000), "whisper")
    sound = sound_of(100_000)
    got = prepare(sound, ready)[0]
    samples = np.pad(np.pad(sound.samples, (0, 480_000 - 100_000)), 200, mode="reflect")
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(400) / 400)
    spectra = np.stack([np.abs(np.fft.rfft(samples[160 * t : 160 * t + 400] * window)) ** 2 for t in range(3000)])
    mels = np.linspace(0, 15 + 27 * np.log(8) / np.log(6.4), 82)
    edges = np.array([m * 200 / 3 if m < 15 else 1000 * 6.4 ** ((m - 15) / 27) for m in mels])
    weights = bands_of(80, edges, np.linspace(0, 8000, 201)) * (2 / (edges[2:] - edges[:-2]))
    logs = np.log10(np.maximum(spectra @ weights, 1e-10))
    np.testing.assert_allclose(got, ((np.maximum(logs, logs.max() - 8) + 4) / 4).T, atol=1e-5)
    compiled = webnn_compile.compile(identity((1, 80, 3000)), sounds={"x": "whisper"})
    np.testing.assert_allclose(compiled.run({"x": samples_of(sound, ready)})["y"][0], got, atol=1e-4)


@pytest.mark.parametrize("name", ["yamnet", "kaldi", "ast"])
def test_bands(name: str) -> None:
    """Every format has those that single triangles have, on HTK's scale."""
    form = SOUNDS.named[name]
    low, high, *frequencies = 1127.01048 * np.log1p(
        np.array([form.fmin, form.top, *np.linspace(0, 8000, form.transform // 2 + 1)]) / 700
    )
    want = bands_of(form.mels, np.linspace(low, high, form.mels + 2), np.array(frequencies))
    np.testing.assert_allclose(mel_bands(form).weights, want, atol=1e-6)


def test_silence_is_finite() -> None:
    for form, shape in ((TINY, (1, 24, 60)), ("kaldi", (1, 49, 80)), ("wav2vec2", (1, 400)), ("yamnet", (1, 96, 64))):
        compiled = webnn_compile.compile(identity(shape), sounds={"x": form})
        got = compiled.run({"x": np.zeros(300, np.float32)})["y"]
        np.testing.assert_allclose(got, prepare(Sound(np.zeros(300), 16000), target_of(shape, form)), atol=1e-5)
        assert np.isfinite(got).all()


def test_sounds_as_long_as_each_run_has_them() -> None:
    proto = model(
        [node("ReduceMean", ["x"], ["m"], keepdims=0), node("Add", ["x", "m"], ["y"])], {"x": (1, "n")}, ["y"]
    )
    n = Scalar("n/8", 1001, low=50)
    compiled = webnn_compile.compile(proto, dims={"n": (400, 8000, 8)}, sounds={"x": "wav2vec2"})
    ready = fit_sound(Value("x", (1, n * 8), F32), SOUNDS.named["wav2vec2"], (Dimension("n", n, 8),))
    for count, long in ((17, 400), (500, 504), (3200, 3200), (9000, 8000)):
        samples = samples_of(sound_of(count), ready)
        assert samples.shape == (long,)
        want = prepare_samples(samples, ready)
        np.testing.assert_allclose(compiled.run({"x": samples})["y"], want + want.mean(), atol=1e-5)


@pytest.mark.parametrize("target", ["native", "c", "wasm", "webgl"])
def test_names(target: str) -> None:
    """Inputs of any name; a dimension of the name that a sound's samples would have."""
    need_driver(target)
    nodes = [node("ReduceMean", ["a sound:0"], ["m"], keepdims=0), node("Add", ["rows", "m"], ["y"])]
    proto = model(nodes, {"a sound:0": (1, 24, 12), "rows": ("a sound:0_samples",)}, ["y"])
    sizes = {"a sound:0_samples": (1, 9)}
    compiled = webnn_compile.compile(proto, target, dims=sizes, sounds={"a sound:0": TINY})
    ready = target_of((1, 24, 12), TINY)
    samples, rows = samples_of(sound_of(700, 8000), ready), np.arange(5, dtype=np.float32)
    got = compiled.run({"a sound:0": samples, "rows": rows})["y"]
    np.testing.assert_allclose(got, rows + prepare_samples(samples, ready).mean(), rtol=1e-4)


@pytest.mark.parametrize("target", ["native", "webgpu"])
def test_halves_leave_spectra_alone(target: str) -> None:
    """Float16 has not the magnitudes of powers."""
    need_driver(target, "shader-f16")
    compiled = webnn_compile.compile(identity((1, 24, 60)), target, sounds={"x": TINY}, precision="f16")
    ready = target_of((1, 24, 60), TINY)
    samples = samples_of(sound_of(4000, 8000), ready)
    np.testing.assert_allclose(compiled.run({"x": samples})["y"], prepare_samples(samples, ready), atol=1e-3)


def test_channels_and_rates() -> None:
    """The mean of channels, at the format's rate."""
    ready = target_of((1, 2000), "raw")
    left, right = sound_of(5000, 44100, 1), sound_of(5000, 44100, 2)
    both = Sound(np.stack([left.samples, right.samples], axis=1), 44100)
    apart = (prepare(left, ready) + prepare(right, ready)) / 2
    np.testing.assert_allclose(prepare(both, ready), apart, atol=1e-6)


@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_files(width: int, tmp_path: Path) -> None:
    values = np.round(np.clip(sound_of(300).samples, -0.9, 0.9).reshape(150, 2) * 2.0 ** (8 * width - 1))
    with wave.open(str(tmp_path / "a.wav"), "wb") as file:
        file.setparams((2, width, 22050, 0, "NONE", ""))
        words = (values + (128 if width == 1 else 0)).astype("<i4").reshape(-1, 1).view(np.uint8)
        file.writeframes(words[:, :width].tobytes())
    sound = open_sound(tmp_path / "a.wav")
    assert sound.rate == 22050
    np.testing.assert_allclose(sound.samples, values / 2.0 ** (8 * width - 1))


def test_mistakes(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--sound speech: the model has no such input; it has x"):
        webnn_compile.compile(identity((1, 80, 30)), sounds={"speech": "whisper"})
    with pytest.raises(InputError, match=r"'wisper' is no format of sounds; choose one of whisper, .*\.json file"):
        webnn_compile.compile(identity((1, 80, 30)), sounds={"x": "wisper"})
    with pytest.raises(InputError, match=r"--sound x: the input is int32.*float32 or float16"):
        webnn_compile.compile(identity((1, 3, 8, 8)), pictures={"x": "unit"}, sounds={"x": "raw"})
    compiled = webnn_compile.compile(identity((1, 400)), sounds={"x": "raw"})
    with pytest.raises(InputError, match="makes x_samples 401, and the model was compiled for 1 to 400"):
        compiled.run({"x": np.zeros(401, np.float32)})
    ready = target_of((1, 400), "raw")
    for samples, rate, message in (
        (np.zeros(0), 16000, "at least one; these are"),
        (np.zeros((2, 3, 4)), 16000, r"these are \[2, 3, 4\]"),
        (np.array([0, np.nan]), 16000, "NaN or infinite; replace them"),
        (np.zeros(5), 16, "rate is from 1000 to 384000 samples in a second, not 16"),
    ):
        with pytest.raises(InputError, match=message):
            prepare(Sound(samples, rate), ready)
    (tmp_path / "a.wav").write_bytes(b"RIFF no sound")
    with pytest.raises(InputError, match=r"a\.wav cannot be read as a sound .*save it as WAV of 16 bits"):
        open_sound(tmp_path / "a.wav")
