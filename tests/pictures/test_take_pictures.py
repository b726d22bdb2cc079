"""Compiled models prepare pictures as Pillow does, bit for bit, on every target."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from onnx_models import model, node
from PIL import Image
from test_models import NETWORKS, SHARED, path_of
from webnn_compile.dtypes import from_numpy
from webnn_compile.errors import InputError
from webnn_compile.graph.ir import Value
from webnn_compile.pictures.formats import MOST, PICTURES, FormatLike
from webnn_compile.pictures.prepare import open_picture, prepare, prepare_words, reduce_picture
from webnn_compile.pictures.take_pictures import PictureInput, fit_picture

Array = np.ndarray

SIZES = [(33, 47), (5, 70), (64, 9), (1, 1), (24, 32), (150, 101)]


def identity(shape: tuple[int, ...], dtype: Any = np.float32) -> onnx.ModelProto:
    """A model whose output is its input."""
    kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    return model([node("Identity", ["x"], ["y"])], {"x": shape}, {"y": kind}, {}, dtype=kind)


def words_of(size: tuple[int, int], seed: int = 0) -> Array:
    """A picture of noise over a gradient, any alpha."""
    generator = np.random.default_rng(seed)
    rows, columns = size
    slope = np.linspace(0, 200, rows)[:, None, None] + np.linspace(0, 55, columns)[None, :, None]
    pixels = np.clip(slope + generator.normal(0, 60, (rows, columns, 4)), 0, 255).astype(np.uint8)
    return np.ascontiguousarray(pixels).view(np.int32)[..., 0]


def target_of(shape: tuple[int, ...], form: FormatLike, dtype: Any = np.float32) -> PictureInput:
    return fit_picture(Value("x", shape, from_numpy(np.dtype(dtype))), PICTURES.by_input({"x": form})["x"])


@pytest.mark.parametrize("target", webnn_compile.TARGETS)
@pytest.mark.parametrize("form", ["imagenet", "yolov8"])
def test_targets(form: str, target: str) -> None:
    need_driver(target)
    shape = (1, 3, 24, 32)
    compiled = webnn_compile.compile(identity(shape), target, pictures={"x": form})
    assert compiled.backend == target
    for size in SIZES:
        words = words_of(size)
        want = prepare_words(words, target_of(shape, form))
        np.testing.assert_allclose(compiled.run({"x": words})["y"], want, rtol=1e-5, atol=1e-6, err_msg=str(size))


@pytest.mark.parametrize(
    ("shape", "dtype", "form"),
    [
        ((1, 3, 24, 32), np.float32, "yolox"),
        ((1, 3, 24, 32), np.float32, "ultraface"),
        ((1, 24, 17, 3), np.float32, {"like": "imagenet", "colours": "bgr"}),
        ((1, 24, 17, 3), np.float16, {"like": "yolov8", "fill": [1, 200, 30], "colours": "bgr"}),
        ((1, 1, 24, 32), np.float32, {"colours": "grey", "mean": 0.5, "std": 0.25}),
        ((1, 19, 32, 1), np.float32, {"like": "yolox", "colours": "grey", "fill": [10, 20, 250]}),
        ((1, 16, 16, 3), np.uint8, {"like": "bytes", "resize": "crop", "kept": 0.7}),
        ((1, 3, 64, 16), np.float32, {"like": "imagenet", "kept": 0.61}),
    ],
    ids=str,
)
def test_formats(shape: tuple[int, ...], dtype: Any, form: FormatLike) -> None:
    for target in ("native", "wasm"):
        compiled = webnn_compile.compile(identity(shape, dtype), target, pictures={"x": form})
        for seed, size in enumerate(SIZES):
            words = words_of(size, seed)
            want = prepare_words(words, target_of(shape, form, dtype))
            got = compiled.run({"x": words})["y"]
            assert (got.dtype, got.shape) == (want.dtype, want.shape)
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6, err_msg=str(size))


def test_bytes_are_those_of_pillow() -> None:
    """Without a difference, for many sizes, also where pixels lie exactly between two."""
    compiled = webnn_compile.compile(identity((1, 20, 32, 3), np.uint8), pictures={"x": "bytes"})
    generator = np.random.default_rng(0)
    for _ in range(60):
        size = tuple(int(n) for n in np.exp(generator.uniform(0, 5.5, 2)))
        words = words_of((size[0], size[1]))
        want = prepare_words(words, target_of((1, 20, 32, 3), "bytes", np.uint8))
        np.testing.assert_array_equal(compiled.run({"x": words})["y"], want, err_msg=str(size))


def test_imagenet_is_torchvisions() -> None:
    """The shorter side becomes 256, and the middle of 224 x 224 is taken."""
    words = words_of((300, 403))
    got = prepare_words(words, target_of((1, 3, 224, 224), "imagenet"))
    image = Image.fromarray(words.view(np.uint8).reshape(300, 403, 4)[..., :3].copy())
    image = image.resize((343, 256), Image.Resampling.BILINEAR).crop((60, 16, 284, 240))
    want = (np.asarray(image, np.float32) / 255 - (0.485, 0.456, 0.406)) / (0.229, 0.224, 0.225)
    np.testing.assert_allclose(got[0], want.transpose(2, 0, 1), atol=2e-6)


def test_larger_pictures_are_reduced_before() -> None:
    """By whole numbers, to at most the rows and columns of the format."""
    target = target_of((1, 8, 8, 3), {"like": "bytes", "most": 40}, np.uint8)
    picture = Image.fromarray(words_of((90, 121)).view(np.uint8).reshape(90, 121, 4)[..., :3].copy())
    np.testing.assert_array_equal(prepare(picture, target), prepare(picture.reduce(4), target))


def test_beside_other_inputs_of_varying_sizes() -> None:
    nodes = [node("ReduceMean", ["x"], ["m"], keepdims=0), node("Add", ["rows", "m"], ["y"])]
    proto = model(nodes, {"x": (1, 3, 8, 8), "rows": ("n",)}, ["y"])
    compiled = webnn_compile.compile(proto, dims={"n": (1, 9)}, pictures={"x": "unit"})
    words = words_of((20, 30))
    rows = np.arange(5, dtype=np.float32)
    want = rows + prepare_words(words, target_of((1, 3, 8, 8), "unit")).mean()
    np.testing.assert_allclose(compiled.run({"x": words, "rows": rows})["y"], want, rtol=1e-5)


@pytest.mark.parametrize("target", ["native", "c", "wasm", "webgl"])
def test_names(target: str) -> None:
    """Inputs of any name; a dimension of the name that a picture's would have."""
    need_driver(target)
    nodes = [node("ReduceMean", ["a picture:0"], ["m"], keepdims=0), node("Add", ["rows", "m"], ["y"])]
    proto = model(nodes, {"a picture:0": (1, 3, 8, 8), "rows": ("a picture:0_height",)}, ["y"])
    sizes = {"a picture:0_height": (1, 9)}
    compiled = webnn_compile.compile(proto, target, dims=sizes, pictures={"a picture:0": "unit"})
    words = words_of((20, 30))
    rows = np.arange(5, dtype=np.float32)
    want = rows + prepare_words(words, target_of((1, 3, 8, 8), "unit")).mean()
    got = compiled.run({"a picture:0": words, "rows": rows})["y"]
    np.testing.assert_allclose(got, want, rtol=1e-5)


@pytest.mark.parametrize("target", ["native", "wasm"])
def test_arrays_of_bytes(target: str) -> None:
    """With alpha or without, also such as lie with gaps: what words give, by the model and what its sessions share."""
    compiled = webnn_compile.compile(identity((1, 3, 8, 8)), target, pictures={"x": "unit"})
    words = words_of((20, 30))
    want = compiled.run({"x": words})["y"]
    rgba = words.view(np.uint8).reshape(20, 30, 4)
    for picture in (rgba, rgba[..., :3], np.asfortranarray(rgba), np.asarray(Image.fromarray(rgba).convert("RGB"))):
        np.testing.assert_array_equal(compiled.run({"x": picture})["y"], want)
    room = np.zeros_like(want)
    assert compiled.run({"x": rgba}, out={"y": room})["y"] is room
    np.testing.assert_array_equal(room, want)


def test_arrays_of_bytes_with_states_and_answers() -> None:
    nodes = [node("ReduceMean", ["x"], ["m"], axes=[1, 2, 3], keepdims=0), node("Add", ["h", "m"], ["h2"])]
    proto = model([*nodes, node("Neg", ["h2"], ["y"])], {"x": (1, 3, 8, 8), "h": (1,)}, ["y", "h2"], opset=13)
    compiled = webnn_compile.compile(proto, pictures={"x": "unit"}, states=["h=h2"])
    picture = np.full((5, 4, 3), 255, np.uint8)
    session = compiled.session()
    assert [session.run({"x": picture})["y"].item() for _ in range(2)] == [-1, -2]
    assert session.fork().run({"x": picture})["y"].item() == -3
    assert compiled.run({"x": picture})["y"].item() == -1


@pytest.mark.parametrize(
    ("given", "got"),
    [
        (np.zeros((4, 5), np.uint8), r"uint8\[4, 5\]"),
        (np.zeros((4, 5, 2), np.uint8), r"uint8\[4, 5, 2\]"),
        (np.zeros((1, 3, 8, 8), np.float32), r"float32\[1, 3, 8, 8\]"),
        (Image.new("RGB", (5, 4)), "Image"),
    ],
    ids=["two dimensions", "two channels", "floats", "an image of Pillow"],
)
def test_arrays_that_are_no_pictures(given: Any, got: str) -> None:
    compiled = webnn_compile.compile(identity((1, 3, 8, 8)), pictures={"x": "unit"})
    with pytest.raises(
        InputError, match=rf"input 'x': expected a picture, an array uint8\[height, width, 4\].*got {got}$"
    ):
        compiled.run({"x": given})


def test_mistakes() -> None:
    with pytest.raises(InputError, match="--picture image: the model has no such input; it has x"):
        webnn_compile.compile(identity((1, 3, 8, 8)), pictures={"image": "unit"})
    with pytest.raises(InputError, match="'photo' is no format of pictures"):
        webnn_compile.compile(identity((1, 3, 8, 8)), pictures={"x": "photo"})
    compiled = webnn_compile.compile(identity((1, 3, 8, 8)), pictures={"x": {"most": 16}})
    with pytest.raises(InputError, match="x_width"):
        compiled.run({"x": words_of((8, 17))})


@pytest.mark.skipif(not (SHARED / "photos").is_dir(), reason=f"there is no folder {SHARED / 'photos'}")
def test_photographs() -> None:
    """A classifier that takes pictures finds what is on them."""
    (network,) = (n for n in NETWORKS if n.file == "resnet18_imagenet")
    compiled = webnn_compile.compile(path_of(network), shapes=network.shapes, pictures={"input": "imagenet"})
    expected = json.loads((SHARED / "photos" / "expected.json").read_text())["onnxruntime_top1"]
    for name, label in expected.items():
        image = reduce_picture(open_picture(SHARED / "photos" / name), MOST)
        words = np.ascontiguousarray(image.convert("RGBA")).view(np.int32)[..., 0]
        (scores,) = compiled.run({"input": words}).values()
        assert int(scores.argmax()) == label, name
