"""Detectors of Caffe's branch for SSD: boxes that are looked at and those that are found."""

from __future__ import annotations

from math import sqrt
from pathlib import Path

import numpy as np
import pytest
import webnn_compile
from caffe_models import write_model

Array = np.ndarray
RNG = np.random.default_rng(21)

PRIORS = """
input: "features" input_shape { dim: 1 dim: 2 dim: 3 dim: 4 }
input: "image" input_shape { dim: 1 dim: 3 dim: 60 dim: 100 }
layer { name: "prior" type: "PriorBox" bottom: "features" bottom: "image" top: "prior" prior_box_param { %s } }
"""


def priors(
    sizes: list[tuple[float, float]],
    image: tuple[int, int],
    step: tuple[float, float],
    offset: float,
) -> Array:
    """Corners around each of three rows of four cells; of pairs the width stands first."""
    boxes = []
    for row in range(3):
        for column in range(4):
            x, y = (column + offset) * step[0], (row + offset) * step[1]
            boxes += [(x - w / 2, y - h / 2, x + w / 2, y + h / 2) for w, h in sizes]
    return np.array(boxes) / (*image, *image)


CASES = {
    "all": (
        "min_size: 20 max_size: 40 aspect_ratio: 2 aspect_ratio: 1 aspect_ratio: 2 variance: 0.1 variance: 0.2 "
        "variance: 0.3 variance: 0.4 clip: true",
        priors(
            [(20, 20), (sqrt(800),) * 2, (20 * sqrt(2), 20 / sqrt(2)), (20 / sqrt(2), 20 * sqrt(2))],
            (100, 60),
            (25, 20),
            0.5,
        ).clip(0, 1),
        [0.1, 0.2, 0.3, 0.4],
    ),
    "stated": (
        "min_size: 8 min_size: 16 aspect_ratio: 3 flip: false clip: false step: 16 offset: 0.25 img_size: 64 "
        "variance: 0.2",
        priors(
            [(8, 8), (8 * sqrt(3), 8 / sqrt(3)), (16, 16), (16 * sqrt(3), 16 / sqrt(3))],
            (64, 64),
            (16, 16),
            0.25,
        ),
        [0.2] * 4,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_prior_boxes(case: str, tmp_path: Path) -> None:
    parameters, boxes, variance = CASES[case]
    path = write_model(tmp_path, PRIORS % parameters, {})
    feeds = {"features": np.zeros((1, 2, 3, 4), np.float32), "image": np.zeros((1, 3, 60, 100), np.float32)}
    got = webnn_compile.compile(path).run(feeds)["prior"]
    assert got.shape == (1, 2, 4 * 4 * 12)
    np.testing.assert_allclose(got[0, 0].reshape(-1, 4), boxes, atol=1e-6)
    np.testing.assert_allclose(got[0, 1].reshape(-1, 4), np.tile(variance, (48, 1)), atol=1e-7)


COUNT, CLASSES = 60, 4
FOUND = """
input: "loc" input_shape { dim: 1 dim: 240 }
input: "conf" input_shape { dim: 1 dim: 240 }
input: "prior" input_shape { dim: 1 dim: 2 dim: 240 }
layer { name: "found" type: "DetectionOutput" bottom: "loc" bottom: "conf" bottom: "prior" top: "found"
  detection_output_param { num_classes: 4 %s } }
"""


def overlap(a: Array, b: Array) -> float:
    sides = (np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])).clip(0)
    common = float(sides.prod())
    return common / (float((a[2:] - a[:2]).prod()) + float((b[2:] - b[:2]).prod()) - common)


def found(boxes: Array, scores: Array, limit: float, most: int, keep: int) -> Array:
    """As DetectionOutputLayer finds them, class by class."""
    rows = []
    for c in range(1, CLASSES):
        order = [i for i in np.argsort(-scores[:, c], kind="stable") if scores[i, c] > limit][:most]
        chosen: list[int] = []
        for i in order:
            if all(overlap(boxes[i], boxes[j]) <= 0.45 for j in chosen):
                chosen.append(i)
        rows += [(0, c, scores[i, c], *boxes[i]) for i in chosen]
    least = sorted((r[2] for r in rows), reverse=True)[: keep if keep > 0 else None]
    return np.array([r for r in rows if not least or r[2] >= least[-1]], np.float32).reshape(-1, 7)


@pytest.mark.parametrize("code", ["CENTER_SIZE", "CORNER"])
@pytest.mark.parametrize(("limit", "most", "keep"), [(0.3, 400, 200), (0.2, 12, 9), (0.01, 30, -1), (0.99, 400, 200)])
def test_boxes_found(code: str, limit: float, most: int, keep: int, tmp_path: Path) -> None:
    centre, size = RNG.uniform(0.2, 0.8, (COUNT, 2)), RNG.uniform(0.1, 0.4, (COUNT, 2))
    prior = np.concatenate([centre - size / 2, centre + size / 2], 1)
    variance = np.tile([0.1, 0.1, 0.2, 0.2], (COUNT, 1))
    loc = RNG.uniform(-1, 1, (COUNT, 4))
    scores = RNG.uniform(0, 0.9, (COUNT, CLASSES)).astype(np.float32)
    if code == "CORNER":
        boxes = prior + variance * loc
    else:
        middle, half = variance[:, :2] * loc[:, :2] * size + centre, np.exp(variance[:, 2:] * loc[:, 2:]) * size / 2
        boxes = np.concatenate([middle - half, middle + half], 1)
    parameters = (
        f"code_type: {code} confidence_threshold: {limit} keep_top_k: {keep} "
        f"nms_param {{ nms_threshold: 0.45 top_k: {most} }}"
    )
    path = write_model(tmp_path, FOUND % parameters, {})
    feeds = {"loc": loc, "conf": scores, "prior": np.stack([prior, variance])}
    shapes = {"loc": (1, 240), "conf": (1, 240), "prior": (1, 2, 240)}
    given = {name: np.asarray(feeds[name], np.float32).reshape(shape) for name, shape in shapes.items()}
    got = webnn_compile.compile(path).run(given)["found"]
    expected = found(boxes, scores, limit, most, keep)
    assert got.shape == (1, 1, *expected.shape)
    np.testing.assert_allclose(got[0, 0], expected, atol=1e-5)


@pytest.mark.parametrize("case", CASES)
def test_a_detector_as_opencv_has_it(case: str, tmp_path: Path) -> None:
    """Prior boxes and those found, from scores that softmax gives."""
    cv2 = pytest.importorskip("cv2", reason="OpenCV is not installed: opencv-python-headless<5")
    text = (
        PRIORS % CASES[case][0].replace("img_size: 64", "")  # which OpenCV does not read
        + """
    input: "loc" input_shape { dim: 1 dim: 192 }
    input: "conf" input_shape { dim: 1 dim: 192 }
    layer { name: "rows" type: "Reshape" bottom: "conf" top: "rows" reshape_param { shape { dim: 0 dim: -1 dim: 4 } } }
    layer { name: "softmax" type: "Softmax" bottom: "rows" top: "softmax" softmax_param { axis: 2 } }
    layer { name: "flat" type: "Flatten" bottom: "softmax" top: "flat" }
    layer { name: "found" type: "DetectionOutput" bottom: "loc" bottom: "flat" bottom: "prior" top: "found"
      detection_output_param { num_classes: 4 share_location: true background_label_id: 0 code_type: CENTER_SIZE
        confidence_threshold: 0.2 keep_top_k: 20
        nms_param { nms_threshold: 0.45 top_k: 30 } } }
    """
    )
    path = write_model(tmp_path, text, {})
    feeds = {
        "features": np.zeros((1, 2, 3, 4), np.float32),
        "image": np.zeros((1, 3, 60, 100), np.float32),
        "loc": RNG.uniform(-1, 1, (1, 192)).astype(np.float32),
        "conf": RNG.normal(0, 1, (1, 192)).astype(np.float32),
    }
    got = webnn_compile.compile(path).run(feeds)["found"]
    net = cv2.dnn.readNetFromCaffe(str(path))
    for name, x in feeds.items():
        net.setInput(x, name)
    expected = net.forward()
    assert got.shape == expected.shape == (1, 1, 20, 7)
    # OpenCV has them by score alone.
    order = np.argsort(-got[0, 0, :, 2]), np.argsort(-expected[0, 0, :, 2])
    np.testing.assert_allclose(got[0, 0, order[0]], expected[0, 0, order[1]], atol=1e-5)
