"""Classes with the highest scores, on every target, as NumPy has them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from onnx_models import model, node
from test_models import NETWORKS, SHARED, path_of
from webnn_compile.errors import InputError
from webnn_compile.pictures.formats import MOST
from webnn_compile.pictures.prepare import open_picture, reduce_picture

Array = np.ndarray

NAMES = [f"class {i}" for i in range(40)]


def network(*last: str, shape: tuple[int, ...] = (1, 40), **attributes: int) -> onnx.ModelProto:
    """Identity, and the operators `last`."""
    ops = ("Identity", *last)
    nodes = [node(op, [f"v{i}"], [f"v{i + 1}"], **(attributes if i else {})) for i, op in enumerate(ops)]
    return model(nodes, {"v0": shape}, [f"v{len(ops)}"])


def logits(shape: tuple[int, ...] = (1, 40)) -> Array:
    return np.random.default_rng(0).normal(0, 2, shape).astype(np.float32)


def softmax(x: Array) -> Array:
    power = np.exp(x - x.max())
    return power / power.sum()


def best(scores: Array, top: int) -> list[tuple[int, float]]:
    return [(int(i), float(scores.ravel()[i])) for i in np.argsort(-scores.ravel(), kind="stable")[:top]]


@pytest.mark.parametrize("target", webnn_compile.TARGETS)
def test_targets(target: str) -> None:
    need_driver(target)
    compiled = webnn_compile.compile(network(), target, answers=["classify,top=4"], labels=NAMES)
    assert compiled.backend == target
    x = logits()
    (answer,) = compiled.run({"v0": x}).values()
    want = best(softmax(x), 4)
    assert [c["index"] for c in answer] == [i for i, _ in want]
    assert [c["label"] for c in answer] == [NAMES[i] for i, _ in want]
    np.testing.assert_allclose([c["score"] for c in answer], [score for _, score in want], rtol=1e-5)


@pytest.mark.parametrize(
    ("last", "attributes", "answer", "scores"),
    [
        ((), {}, "classify", softmax),
        ((), {}, "classify,scores", lambda x: x),
        (("Softmax",), {"axis": 1}, "classify", softmax),
        (("Softmax",), {"axis": 1}, "classify,logits", lambda x: softmax(softmax(x))),
        (("LogSoftmax",), {"axis": 1}, "classify", softmax),
        (("Sigmoid", "Flatten"), {}, "v3=classify,top=1000", lambda x: 1 / (1 + np.exp(-x))),
    ],
)
def test_logits_and_scores(last: tuple[str, ...], attributes: dict[str, int], answer: str, scores: object) -> None:
    assert callable(scores)
    shape = (1, 40, 1, 1) if "Sigmoid" in last else (1, 40)
    proto = network(*last, shape=shape) if "Sigmoid" in last else network(*last, shape=shape, **attributes)
    x = logits(shape)
    (got,) = webnn_compile.compile(proto, answers=[answer]).run({"v0": x}).values()
    want = best(scores(x), 40 if "1000" in answer else 5)
    assert [(c["index"], c["label"]) for c in got] == [(i, str(i)) for i, _ in want]
    np.testing.assert_allclose([c["score"] for c in got], [score for _, score in want], rtol=1e-5)


def test_other_outputs_stay() -> None:
    nodes = [node("Identity", ["x"], ["y.scores"]), node("Neg", ["x"], ["y"]), node("Relu", ["x"], ["z"])]
    proto = model(nodes, {"x": (1, 6)}, ["y.scores", "y", "z"])
    x = logits((1, 6))
    with pytest.raises(InputError, match=r"several outputs fit it: y.scores, y, z; name one, as in .* y.scores=class"):
        webnn_compile.compile(proto, answers=["classify"])
    got = webnn_compile.compile(proto, answers=["y=classify,top=1", "z=classify,top=2"]).run({"x": x})
    assert list(got) == ["y.scores", "y", "z"]
    np.testing.assert_array_equal(got["y.scores"], x)
    assert [c["index"] for c in got["y"]] == [int(x.argmin())]


@pytest.mark.parametrize(
    ("shape", "answers", "labels", "message"),
    [
        (
            (1, 4, 5),
            ["classify"],
            None,
            r"float32\[1, classes\]; the model has v1 of float32\[1, 4, 5\]",
        ),
        ((2, 9), ["classify"], None, r"the model has v1 of float32\[2, 9\]"),
        ((1, 9), ["x=classify"], None, "--answer x=classify: the model has no such output; it has v1"),
        ((1, 9), ["classify", "v1=classify"], None, "output 'v1' is taken by --answer classify; leave one out"),
        ((1, 9), ["classify"], NAMES, "labels: it has 40 labels, and output 'v1' has 9 classes"),
        ((1, 9), ["embedding"], NAMES, "labels are of answers: say which, as in --answer classify"),
        ((1, 9), [], NAMES, "labels are of answers: say which, as in --answer classify"),
    ],
)
def test_mistakes(shape: tuple[int, ...], answers: list[str], labels: list[str] | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        webnn_compile.compile(network(shape=shape), answers=answers, labels=labels)


@pytest.mark.skipif(not (SHARED / "photos").is_dir(), reason=f"there is no folder {SHARED / 'photos'}")
def test_photographs() -> None:
    (own,) = (n for n in NETWORKS if n.file == "resnet18_imagenet")
    labels = Path(SHARED / "labels" / "imagenet1000_clsidx_to_labels.txt")
    compiled = webnn_compile.compile(
        path_of(own), shapes=own.shapes, pictures={"input": "imagenet"}, answers=["classify"], labels=labels
    )
    expected = json.loads((SHARED / "photos" / "expected.json").read_text())["onnxruntime_top1"]
    for name in ("samoyed.jpg", "sports_car.jpg"):
        image = reduce_picture(open_picture(SHARED / "photos" / name), MOST)
        words = np.ascontiguousarray(image.convert("RGBA")).view(np.int32)[..., 0]
        (classes,) = compiled.run({"input": words}).values()
        assert classes[0]["index"] == expected[name]
    assert classes[0]["label"] == "sports car, sport car"
