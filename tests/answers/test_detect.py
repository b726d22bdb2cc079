"""Boxes of detectors of each family, as NumPy decodes and chooses them, in the coordinates of the picture."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from onnx_models import model, node
from op_cases.boxes import chosen
from test_models import SHARED
from webnn_compile.answers.coco import COCO
from webnn_compile.answers.formats import DETECTORS, Answer, Detect, Detector, parse_answer
from webnn_compile.errors import InputError
from webnn_compile.pictures.formats import MOST
from webnn_compile.pictures.prepare import open_picture, reduce_picture

Array = np.ndarray

ROWS, COLUMNS = 64, 96
SIDES = np.array([COLUMNS, ROWS, COLUMNS, ROWS])


def cells(strides: tuple[int, ...]) -> Array:
    """Column, row and stride of each cell."""
    return np.array([(x, y, s) for s in strides for y in range(ROWS // s) for x in range(COLUMNS // s)], np.float32)


def outputs(preset: str, classes: int = 4) -> dict[str, Array]:
    """Arrays that a detector of the family might compute."""
    rng, d = np.random.default_rng(3), DETECTORS.named[preset]
    count = d.anchors * len(cells(d.strides)) if d.strides else 50
    scores = rng.uniform(0, 1, (count, classes + d.background)) ** 3
    middles, sides = rng.uniform(0.1, 0.9, (count, 2)), rng.uniform(0.05, 0.4, (count, 2))
    if d.arrangement == "apart":
        boxes = np.concatenate((middles - sides / 2, middles + sides / 2), axis=1)
        return {"boxes": boxes[None].astype(np.float32), "scores": scores[None].astype(np.float32)}
    four = np.concatenate((middles, sides), axis=1) * SIDES if d.unit == "pixels" else middles
    if d.unit == "cells":
        four = np.concatenate((rng.uniform(0, 1, (count, 2)), rng.uniform(-1, 1, (count, 2))), axis=1)
    known = [rng.uniform(0.5, 1, (count, 1))] if d.objectness else []
    table = np.concatenate((four, *known, scores), axis=1)[None].astype(np.float32)
    return {"y": table if d.arrangement == "rows" else table.transpose(0, 2, 1).copy()}


def detector(preset: str, classes: int = 4) -> onnx.ModelProto:
    """A model with the outputs of the family, whatever its input shows."""
    values = outputs(preset, classes)
    nodes = [node("ReduceMean", ["x"], ["m"], keepdims=0), node("Mul", ["m", "zero"], ["none"])]
    nodes += [node("Add", [f"{name}.values", "none"], [name]) for name in values]
    constants = {f"{name}.values": a for name, a in values.items()} | {"zero": np.zeros((), np.float32)}
    return model(nodes, {"x": (1, 3, ROWS, COLUMNS)}, list(values), constants)


def wanted(preset: str, limits: Detector) -> tuple[Array, Array, Array]:
    """Boxes in pixels of the input, scores and classes."""
    d, values = DETECTORS.named[preset], [a[0] for a in outputs(preset).values()]
    if d.arrangement == "apart":
        four, scores = values[0] * SIDES if d.unit == "relative" else values[0], values[1][:, 1:]
        four = np.concatenate((four[:, :2], four[:, 2:] - four[:, :2]), axis=1)
    else:
        table = values[0] if d.arrangement == "rows" else values[0].T
        four, scores = table[:, :4].copy(), table[:, 4 + d.objectness :]
        if d.objectness:
            scores = scores * table[:, 4:5]
        if d.unit == "cells":
            grid = cells(d.strides)
            four = np.concatenate((four[:, :2] + grid[:, :2], np.exp(four[:, 2:])), axis=1) * grid[:, 2:]
        four[:, :2] -= four[:, 2:] / 2
    best = scores.max(axis=1)
    return chosen(four, best, scores.argmax(axis=1), limits.threshold, limits.overlap, limits.most)


def check(found: list[dict[str, Any]], preset: str, limits: Detector, scale: tuple[float, float] = (1, 1)) -> None:
    """`scale`: pixels of the picture for one of the input, along x and y."""
    boxes, scores, classes = wanted(preset, limits)
    count = int((scores > 0).sum())
    assert 3 < count == len(found)
    assert [f["index"] for f in found] == classes[:count].tolist()
    np.testing.assert_allclose([f["score"] for f in found], scores[:count], rtol=1e-5)
    far = np.minimum(boxes[:count, :2] + boxes[:count, 2:], [COLUMNS, ROWS]) * scale
    near = np.maximum(boxes[:count, :2], 0) * scale
    got = np.array([[f["box"][k] for k in ("x", "y", "width", "height")] for f in found])
    np.testing.assert_allclose(got, np.concatenate((near, far - near), axis=1), rtol=1e-4, atol=2e-3)


@pytest.mark.parametrize("preset", DETECTORS.named)
def test_families(preset: str) -> None:
    compiled = webnn_compile.compile(detector(preset), answers=[f"detect={preset},threshold=0.5,overlap=0.2,most=15"])
    (found,) = compiled.run({"x": np.ones((1, 3, ROWS, COLUMNS), np.float32)}).values()
    check(found, preset, Detector(threshold=0.5, overlap=0.2, most=15))


@pytest.mark.parametrize("target", ["wasm", "webgl", "webgpu"])
def test_targets(target: str) -> None:
    need_driver(target)
    compiled = webnn_compile.compile(detector("yolox"), target, answers=["detect=yolox"], labels=["a", "b", "c", "d"])
    (found,) = compiled.run({"x": np.ones((1, 3, ROWS, COLUMNS), np.float32)}).values()
    check(found, "yolox", DETECTORS.named["yolox"])
    assert [f["label"] for f in found] == ["abcd"[f["index"]] for f in found]


@pytest.mark.parametrize(
    ("preset", "classes", "names"), [("yolov8", 80, COCO), ("yolov8", 79, None), ("ssd", 80, None)]
)
def test_labels_that_a_family_is_published_with(preset: str, classes: int, names: Sequence[str] | None) -> None:
    """COCO's, where the classes are as many."""
    compiled = webnn_compile.compile(detector(preset, classes), answers=[f"detect={preset}"])
    (found,) = compiled.run({"x": np.ones((1, 3, ROWS, COLUMNS), np.float32)}).values()
    assert len(found) > 3
    assert [f["label"] for f in found] == [str(f["index"]) if names is None else names[f["index"]] for f in found]
    assert (len(set(COCO)), COCO[0], COCO[39], COCO[79]) == (80, "person", "bottle", "toothbrush")


def test_boxes_are_in_the_picture() -> None:
    """A stretched one, twice as wide and half as high."""
    compiled = webnn_compile.compile(detector("ssd"), pictures={"x": "unit"}, answers=["detect=ssd"])
    for form, dtype in (((), np.int32), ((3,), np.uint8), ((4,), np.uint8)):
        (found,) = compiled.run({"x": np.zeros((ROWS // 2, 2 * COLUMNS, *form), dtype)}).values()
        check(found, "ssd", DETECTORS.named["ssd"], (2, 0.5))


@pytest.mark.parametrize(("boxes", "order"), [("centre", [0, 1, 2, 3]), ("corners-yx", [3, 2, 1, 0])])
def test_files(tmp_path: Path, boxes: str, order: list[int]) -> None:
    """Boxes in other forms, and scores as logits, of outputs by their names."""
    (tmp_path / "own.json").write_text(
        json.dumps({"like": "ssd", "boxes": boxes, "activation": "softmax", "scores_output": "s", "threshold": 0.2})
    )
    four, logits = np.array([[0.1, 0.2, 0.5, 0.4]])[:, order], np.array([[1.0, 3.0, 0.0, 1.0]])
    constants = {"zero": np.zeros((), np.float32)}
    constants |= {f"{n}.values": a[None].astype(np.float32) for n, a in (("b", four), ("s", logits))}
    nodes = [node("ReduceMean", ["x"], ["m"], keepdims=0), node("Mul", ["m", "zero"], ["none"])]
    nodes += [node("Add", [f"{name}.values", "none"], [name]) for name in ("b", "s")]
    proto = model(nodes, {"x": (1, 3, 10, 20)}, ["b", "s"], constants)
    with pytest.raises(InputError, match="several outputs fit it, as boxes and scores: b, s or s, b"):
        webnn_compile.compile(proto, answers=["detect=ssd"])
    compiled = webnn_compile.compile(proto, answers=[f"detect={tmp_path / 'own.json'}"])
    ((one,),) = compiled.run({"x": np.ones((1, 3, 10, 20), np.float32)}).values()
    scores = np.exp(logits) / np.exp(logits).sum()
    assert (one["index"], one["score"]) == (0, pytest.approx(scores[0, 1], rel=1e-5))
    box = {"x": 2, "y": 2, "width": 8, "height": 2} if boxes != "centre" else {"x": 0, "y": 0, "width": 7, "height": 4}
    assert one["box"] == pytest.approx(box, abs=1e-5)


def test_texts() -> None:
    answer = parse_answer("y=detect=yolov8,threshold=0.5,most=7")
    assert answer == Answer(Detect(Detector("columns", strides=(8, 16, 32), threshold=0.5, most=7), COCO), "y")
    for name, own in DETECTORS.named.items():
        own.check(name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("detect", r"give detect=yolox\|yolov5\|yolov8\|ssd\|ultraface\|FILE.json"),
        ("detect=yolo", "'yolo' is no format of detectors; choose one of yolox, yolov5"),
        ("detect=yolox,threshold=high", "threshold is 'high'; give a number from 0 to 1"),
        ("detect=yolox,overlap=2", "overlap is 2.0; give a share from 0 to 1"),
        ("detect=yolox,most=10000", "most is 10000; give a number from 1 to 1000"),
        ("detect=yolox,best", "'best' is unknown; give detect="),
    ],
)
def test_mistakes(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_answer(text)


@pytest.mark.parametrize(
    ("family", "answer", "message"),
    [
        (
            "yolov8",
            "detect=yolox",
            r"float32\[1, 126 boxes \(of 64 x 96 pixels at strides 8, 16, 32\), 5 \+ classes\]; the ",
        ),
        ("yolov8", "detect=yolox", r"the model has y of float32\[1, 8, 126\]"),
        (
            "yolox",
            "detect=ultraface",
            r"it takes outputs of float32\[1, boxes, 4\] and float32\[1, boxes, 1 \+ classes",
        ),
        ("ssd", "detect=yolov8", r"float32\[1, 4 \+ classes, 126 boxes .*; the model has boxes of float32\[1, 50, 4\]"),
    ],
)
def test_what_does_not_fit(family: str, answer: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        webnn_compile.compile(detector(family), answers=[answer])
    with pytest.raises(InputError, match=r"it has 2 labels, and output '(y|scores)' has 4 classes"):
        webnn_compile.compile(detector(family), answers=[f"detect={family}"], labels=["a", "b"])


def test_a_detector_needs_pixels() -> None:
    proto = model([node("Identity", ["x"], ["y"])], {"x": (1, 126, 8)}, ["y"])
    with pytest.raises(InputError, match=r"it needs one input of pixels.*the model has x of float32\[1, 126, 8\]"):
        webnn_compile.compile(proto, answers=["detect=yolox"])


@pytest.mark.skipif(not (SHARED / "photos").is_dir(), reason=f"there is no folder {SHARED / 'photos'}")
@pytest.mark.parametrize(
    ("file", "picture", "answer", "photograph", "expected"),
    [
        ("yolox_nano_coco_416", "images=yolox", "detect=yolox", "sports_car.jpg", [(2, 470, 520, 910, 300)]),
        ("ultraface_rfb320", "input=ultraface", "detect=ultraface", "sports_car.jpg", []),
    ],
)
def test_photographs(file: str, picture: str, answer: str, photograph: str, expected: list[tuple[int, ...]]) -> None:
    name, form = picture.split("=")
    compiled = webnn_compile.compile(SHARED / "models" / f"{file}.onnx", pictures={name: form}, answers=[answer])
    image = reduce_picture(open_picture(SHARED / "photos" / photograph), MOST)
    (found,) = compiled.run({name: np.ascontiguousarray(image.convert("RGBA")).view(np.int32)[..., 0]}).values()
    got = [(f["index"], *(f["box"][k] for k in ("x", "y", "width", "height"))) for f in found]
    np.testing.assert_allclose(got, expected, atol=15)
