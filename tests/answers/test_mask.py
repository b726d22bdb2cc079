"""Masks and vectors, as NumPy has them, in the picture that was given."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from onnx_models import model, node
from webnn_compile.errors import InputError

Array = np.ndarray


def scores(shape: tuple[int, ...], seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(0, 1, shape).astype(np.float32)


def pooled(*sides: int) -> onnx.ModelProto:
    """Means of so many pixels."""
    return model([node("AveragePool", ["x"], ["y"], kernel_shape=sides, strides=sides)], {"x": (1, 3, 12, 20)}, ["y"])


@pytest.mark.parametrize("target", ["native", "wasm", "webgl", "webgpu"])
def test_classes_of_pixels(target: str) -> None:
    """At half of the input's size; pixels of the input have those of their places."""
    need_driver(target)
    proto = model(
        [node("AveragePool", ["x"], ["y"], kernel_shape=[2, 2], strides=[2, 2])], {"x": (1, 3, 12, 20)}, ["y"]
    )
    x = scores((1, 3, 12, 20))
    mask = webnn_compile.compile(proto, target, answers=["mask"], labels=["sky", "sea", "sand"]).run({"x": x})["y"]
    small = x.reshape(3, 6, 2, 10, 2).mean(axis=(2, 4)).argmax(axis=0)
    assert (mask["width"], mask["height"], mask["labels"]) == (20, 12, ["sky", "sea", "sand"])
    np.testing.assert_array_equal(mask["classes"].reshape(12, 20), small.repeat(2, axis=0).repeat(2, axis=1))
    assert mask["classes"].dtype == np.uint8


@pytest.mark.parametrize(("op", "least"), [("Identity", 0.0), ("Sigmoid", 0.5)])
def test_one_class(op: str, least: float) -> None:
    proto = model([node(op, ["x"], ["y"])], {"x": (1, 9, 7, 1)}, ["y"])
    x = scores((1, 9, 7, 1))
    mask = webnn_compile.compile(proto, answers=["mask"]).run({"x": x})["y"]
    value = x if op == "Identity" else 1 / (1 + np.exp(-x))
    np.testing.assert_array_equal(mask["classes"], (value > least).ravel())


def test_a_mask_is_in_the_picture() -> None:
    """Red, in a picture of which the model sees the middle: what is outside is of class 0."""
    nodes = [node("Neg", ["x"], ["n"]), node("Concat", ["n", "x"], ["y"], axis=1)]
    proto = model(nodes, {"x": (1, 1, 8, 8)}, ["y"])
    form = {"like": "unit", "resize": "crop", "colours": "grey", "mean": 0.5}
    compiled = webnn_compile.compile(proto, pictures={"x": form}, answers=["mask"])
    white = np.full((16, 64), -1, np.int32)
    mask = compiled.run({"x": white})["y"]
    seen = np.zeros((16, 64), np.uint8)
    seen[:, 24:40] = 1
    assert (mask["width"], mask["height"]) == (64, 16)
    np.testing.assert_array_equal(mask["classes"].reshape(16, 64), seen)


@pytest.mark.parametrize("normalise", [False, True])
def test_vectors(normalise: bool) -> None:
    proto = model([node("GlobalAveragePool", ["x"], ["y"])], {"x": (1, 30, 4, 4)}, ["y"])
    x = scores((1, 30, 4, 4))
    answer = "embedding,normalise" if normalise else "embedding"
    vector = webnn_compile.compile(proto, answers=[answer]).run({"x": x})["y"]
    want = x.mean(axis=(0, 2, 3))
    np.testing.assert_allclose(vector, want / np.linalg.norm(want) if normalise else want, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            "mask",
            r"float32\[1, classes, rows, columns\] or .* in the proportions of 12 x 20; the model has y",
        ),
        ("embedding", r"it takes an output of float32\[batch, size\]; the model has y of float32\[1, 3, 12, 10\]"),
        ("mask=deeplab", "'deeplab' is unknown; give mask"),
        ("embedding,half", "'half' is unknown; give embedding, with pool=mean"),
    ],
)
def test_mistakes(answer: str, message: str) -> None:
    proto = model(
        [node("AveragePool", ["x"], ["y"], kernel_shape=[1, 2], strides=[1, 2])], {"x": (1, 3, 12, 20)}, ["y"]
    )
    with pytest.raises(InputError, match=message):
        webnn_compile.compile(proto, answers=[answer])
