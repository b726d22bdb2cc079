"""Calibration data in a folder, and their labels."""

from __future__ import annotations

import json
import wave
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from onnx_models import random
from PIL import Image
from webnn_compile.dtypes import F32, I64, U8, DType
from webnn_compile.errors import InputError
from webnn_compile.graph.ir import Value
from webnn_compile.pictures.formats import FORMATS
from webnn_compile.quantization.expected import Accuracy, measure_accuracy, read_expected
from webnn_compile.quantization.samples import Sample, read_samples
from webnn_compile.sounds.formats import SOUNDS

IMAGENET = FORMATS["imagenet"]
RAW = replace(IMAGENET, mean=(0.0,), std=(1.0,))


def value(name: str, *shape: int, dtype: DType = F32) -> Value:
    return Value(name, shape, dtype)


@pytest.fixture
def photographs(tmp_path: Path) -> Path:
    """Three of one colour each, of other sizes than the input's, and a file that is no data."""
    for name, size, colour in (
        ("a.png", (40, 20), (255, 0, 0)),
        ("b.jpg", (9, 30), (0, 0, 255)),
        ("c.bmp", (8, 8), 51),
    ):
        Image.new("RGB" if isinstance(colour, tuple) else "L", size, colour).save(tmp_path / name)
    (tmp_path / "expected.json").write_text("{}")
    return tmp_path


def test_pictures(photographs: Path) -> None:
    samples = read_samples(
        photographs, [value("x", 1, 3, 8, 12)], replace(IMAGENET, mean=(0.5, 0, 0), std=(0.25, 1, 1))
    )
    assert [s.files for s in samples] == [("a.png",), ("b.jpg",), ("c.bmp",)]
    assert all(s.inputs["x"].shape == (1, 3, 8, 12) and s.inputs["x"].dtype == np.float32 for s in samples)
    np.testing.assert_allclose(samples[0].inputs["x"][0, :, 4, 4], [2, 0, 0])
    np.testing.assert_allclose(samples[2].inputs["x"][0, :, 4, 4], [-1.2, 0.2, 0.2], rtol=1e-5)


def test_pictures_are_scaled_and_cut_as_for_imagenet(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (300, 400, 3)).astype(np.uint8)
    Image.fromarray(pixels).save(tmp_path / "p.png")
    (sample,) = read_samples(tmp_path, [value("x", 1, 3, 224, 224)])
    scaled = Image.open(tmp_path / "p.png").resize((341, 256), Image.Resampling.BILINEAR).crop((58, 16, 282, 240))
    expected = (np.asarray(scaled, np.float32) / 255 - (0.485, 0.456, 0.406)) / (0.229, 0.224, 0.225)
    np.testing.assert_allclose(sample.inputs["x"][0], expected.transpose(2, 0, 1), atol=1e-5)


def test_pictures_of_other_layouts(photographs: Path) -> None:
    (last, *_) = read_samples(photographs, [value("x", 1, 8, 12, 3)], RAW)
    np.testing.assert_allclose(last.inputs["x"][0, 4, 4], [1, 0, 0])
    (grey, *_) = read_samples(photographs, [value("x", 1, 1, 8, 12)], RAW)
    assert grey.inputs["x"][0, 0, 4, 4] == pytest.approx(76 / 255)
    (quanta, *_) = read_samples(photographs, [value("x", 1, 8, 12, 3, dtype=U8)])
    assert quanta.inputs["x"][0, 4, 4].tolist() == [255, 0, 0]
    first, second = read_samples(photographs, [value("x", 2, 3, 8, 8)], RAW)
    assert [first.files, second.files] == [("a.png", "b.jpg"), ("c.bmp",)]
    assert second.inputs["x"].shape == (2, 3, 8, 8)


def test_sounds(tmp_path: Path) -> None:
    """Files of sounds fill the one input in the format that says how."""
    for name, level in (("a.wav", 1000), ("b.wav", -2000)):
        with wave.open(str(tmp_path / name), "wb") as file:
            file.setparams((1, 2, 16000, 0, "NONE", ""))
            file.writeframes(np.full(300, level, "<i2").tobytes())
    first, second = read_samples(tmp_path, [value("x", 1, 400)], sound=SOUNDS.named["raw"])
    assert (first.files, second.files) == (("a.wav",), ("b.wav",))
    np.testing.assert_allclose(second.inputs["x"][0], [-2000 / 2**15] * 300 + [0] * 100)
    with pytest.raises(InputError, match=r"a\.wav is a sound, .*say how it fills the input by --sound INPUT=FORMAT"):
        read_samples(tmp_path, [value("x", 1, 400)])
    with pytest.raises(InputError, match=r"a\.wav is a sound, which fits one input, .*'y'.*give \.npy files"):
        read_samples(tmp_path, [value("x", 1, 400), value("y", 2)], sound=SOUNDS.named["raw"])


def test_arrays(tmp_path: Path) -> None:
    np.save(tmp_path / "several.npy", random((5, 4)))
    np.save(tmp_path / "row.npy", random((4,)).astype(np.float64))
    np.savez(tmp_path / "named.npz", x=random((1, 4), 1), other=np.zeros(3))
    samples = read_samples(tmp_path, [value("x", 1, 4)])
    assert [s.files[0] for s in samples] == [
        *("named.npz", "row.npy"),
        *(f"several.npy[{i}]" for i in range(5)),
    ]
    assert {(s.inputs["x"].shape, s.inputs["x"].dtype.name) for s in samples} == {((1, 4), "float32")}
    assert all(s.inputs.keys() == {"x"} for s in samples)


def test_arrays_of_several_inputs(tmp_path: Path) -> None:
    inputs = [value("a.x", 1, 4), value("b", 1, 2, dtype=I64)]
    for i in ("1", "2"):
        np.save(tmp_path / f"a.x.{i}.npy", random((1, 4), int(i)))
        np.save(tmp_path / f"b.{i}.npy", np.full((1, 2), int(i), np.int32))
    first, second = read_samples(tmp_path, inputs)
    assert (int(first.inputs["b"][0, 0]), int(second.inputs["b"][0, 0])) == (1, 2)
    np.testing.assert_array_equal(second.inputs["a.x"], random((1, 4), 2))


def write_text(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_text("no such file")


X, IDS, TEXT = value("x", 1, 3, 8, 8), value("ids", 1, 4, dtype=I64), value("mask", 1, 4, dtype=I64)


@pytest.mark.parametrize(
    ("write", "inputs", "message"),
    [
        (lambda _: None, [X], "it holds no calibration data; put pictures"),
        (write_text("a.jpg"), [X], r"a\.jpg cannot be read as a picture"),
        (write_text("a.npy"), [X], r"a\.npy cannot be read as a file of NumPy"),
        (write_text("a.npz"), [X], r"a\.npz cannot be read as a file of NumPy"),
        (write_text("a.jpg"), [IDS], r"a\.jpg is a picture, .* this model has 'ids': int64\[1, 4\]"),
        (
            lambda f: np.save(f / "x.npy", np.zeros((1, 3, 9, 8))),
            [X],
            r"x\.npy does not fit input 'x': it holds float64\[1, 3, 9, 8\], and the input takes float32\[1, 3, 8, 8\]",
        ),
        (lambda f: np.save(f / "x.npy", np.zeros((1, 4))), [IDS], r"holds float64\[1, 4\], and the input takes int64"),
        (lambda f: np.savez(f / "x.npz", y=np.zeros(2)), [X], "holds no array named 'x', an input of the model, but y"),
        (lambda f: np.save(f / "x.npy", np.zeros((1, 4))), [IDS, TEXT], "fits no input: the model has ids, mask; name"),
        (lambda f: np.save(f / "ids.1.npy", np.zeros((1, 4), int)), [IDS, TEXT], r"no calibration file mask\.1\.npy"),
        (lambda f: np.save(f / "x.npy", np.zeros((0, 3, 8, 8))), [X], r"x\.npy: its arrays hold no sample"),
        (
            lambda f: [np.save(f / f"{n}.npy", np.zeros((k, 4), int)) for n, k in (("ids", 2), ("mask", 3))],
            [IDS, TEXT],
            "different numbers of samples",
        ),
    ],
)
def test_what_fits_no_input(write: Callable[[Path], object], inputs: list[Value], message: str, tmp_path: Path) -> None:
    write(tmp_path)
    with pytest.raises(InputError, match=message):
        read_samples(tmp_path, inputs)


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist; give a folder"):
        read_samples(tmp_path / "none", [X])
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="is no folder; give a folder"):
        read_samples(tmp_path / "file", [X])


SAMPLES = [Sample(("a.png", "b.png"), {}), Sample(("c.png",), {})]


def test_expected(tmp_path: Path) -> None:
    file = tmp_path / "expected.json"
    file.write_text(json.dumps({"about": "", "accepted": {"a.png": [1, 2], "c.png": 0, "z.png": [4]}}))
    labels = read_expected(file, SAMPLES)
    assert labels == {"a.png": (1, 2), "c.png": (0,)}
    file.write_text(json.dumps({"a.png": [2]}))
    assert read_expected(file, SAMPLES) == {"a.png": (2,)}
    scores = np.eye(3, dtype=np.float32)
    outputs = [(SAMPLES[0], scores[[1, 0]]), (SAMPLES[1], scores[[2, 2]])]
    assert measure_accuracy(outputs, labels) == Accuracy(1, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "it is no JSON"),
        ("[]", "give {.accepted.: {.FILE.: "),
        ('{"accepted": {"a.png": ["cat"]}}', r"classes of 'a\.png' are \['cat'\]"),
        ('{"z.png": 1}', r"labels none of the calibration files; those are a\.png, b\.png, c\.png"),
        (None, "cannot be read: No such file"),
    ],
)
def test_files_that_label_nothing(text: str | None, message: str, tmp_path: Path) -> None:
    file = tmp_path / "expected.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(InputError, match=message):
        read_expected(file, SAMPLES)
