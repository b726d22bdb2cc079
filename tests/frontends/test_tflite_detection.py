"""Boxes that TFLite's post-processing of detectors selects are LiteRT's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import webnn_compile
from tflite_detector import detector
from tflite_models import interpreted, seeded
from webnn_compile.errors import InputError, UnsupportedError
from webnn_compile.frontends.importers import import_model

Array = np.ndarray
RNG = seeded("detection")


def detected(file: bytes, high: float) -> tuple[list[Array], list[Array], int]:
    """Our results and LiteRT's, for scores up to `high`, and the number found."""
    feeds = [RNG.uniform(-3, 3, (1, 40, 4)).astype(np.float32), RNG.uniform(0, high, (1, 40, 4)).astype(np.float32)]
    results = webnn_compile.compile(file).run(dict(zip(("boxes", "scores"), feeds, strict=True)))
    expected = interpreted(file, feeds)
    assert [a.shape for a in results.values()] == [a.shape for a in expected]
    return list(results.values()), expected, int(expected[3][0])


@pytest.mark.parametrize("high", [0.29, 0.6, 1.0])
def test_boxes_of_a_detector(high: float) -> None:
    """None above the threshold, some, and more than there may be."""
    got, (boxes, kinds, scores, count), found = detected(detector(), high)
    assert got[3].tolist() == count.tolist()
    np.testing.assert_allclose(got[0][:, :found], boxes[:, :found], atol=1e-5)
    np.testing.assert_array_equal(got[1][:, :found], kinds[:, :found])
    np.testing.assert_allclose(got[2][:, :found], scores[:, :found], atol=1e-6)
    assert not any(a[:, found:].any() for a in got[:3])


@pytest.mark.parametrize("regular", [False, True])
@pytest.mark.parametrize("threshold", [0.0, 0.5])
def test_scores_at_the_threshold_are_taken(threshold: float, regular: bool) -> None:
    """Half of the anchors have it, the others less."""
    file = detector(most=40, use_regular_nms=regular, nms_score_threshold=threshold, nms_iou_threshold=1.0)
    boxes, scores = np.zeros((1, 40, 4), np.float32), np.full((1, 40, 4), threshold, np.float32)
    scores[:, ::2] -= 0.25
    expected = interpreted(file, [boxes, scores])
    results = list(webnn_compile.compile(file).run({"boxes": boxes, "scores": scores}).values())
    assert results[3].tolist() == expected[3].tolist()
    found = int(expected[3][0])
    assert found >= 20
    np.testing.assert_allclose(results[0][:, :found], expected[0][:, :found], atol=1e-6)


@pytest.mark.parametrize("each", [1, 2])
@pytest.mark.parametrize(("high", "of_class"), [(0.29, 100), (0.5, 100), (1.0, 100), (1.0, 2)])
def test_boxes_of_each_class(high: float, of_class: int, each: int) -> None:
    """Selected apart, few of each class or all, and the best ones of these taken."""
    file = detector(most=12, each=each, use_regular_nms=True, detections_per_class=of_class)
    got, want, found = detected(file, high)
    assert got[3].tolist() == [found]
    for a, b in zip(got[:3], want[:3], strict=True):
        np.testing.assert_allclose(a[:, :found], b[:, :found], atol=1e-5)
        assert not a[:, found:].any()


@pytest.mark.parametrize("high", [0.6, 1.0])
@pytest.mark.parametrize("each", [2, 3])
def test_boxes_with_several_classes(high: float, each: int) -> None:
    got, want, found = detected(detector(each=each), high)
    assert got[3].tolist() == [found]
    for a, b in zip(got[:3], want[:3], strict=True):
        np.testing.assert_allclose(a[:, : found * each], b[:, : found * each], atol=1e-5)
        assert not a[:, found * each :].any()


@pytest.mark.parametrize("count", [0, 5])
def test_classes_that_the_scores_lack_are_refused(count: int) -> None:
    with pytest.raises(UnsupportedError, match=rf"\('r0'\): {count} classes, where its scores are of 4"):
        import_model(detector(num_classes=count))


@pytest.mark.parametrize("change", [{"length": 0}, {"length": 60}, {"y_scale": "wide"}])
def test_options_that_are_damaged_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"\('r0'\): its options cannot be read, or lack some; convert it again"):
        import_model(detector(**change))
