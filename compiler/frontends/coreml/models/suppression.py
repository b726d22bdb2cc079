"""Suppression of boxes that overlap better ones, after a detector.

Source: NonMaximumSuppression.proto of Core ML's specification.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..feature_values import Features, FeatureValue
from ..suppression import best_first
from .model_call import ModelCall, ModelHandler

_MOST = 2**24
"""Boxes of any detector."""


def _count_classes(call: ModelCall) -> int:
    """The number of labels, or else of columns of scores."""
    labels = call.params.stringClassLabels.vector or call.params.int64ClassLabels.vector
    scores = call.given.get(call.params.confidenceInputFeatureName)
    columns = scores.shape[-1:] if isinstance(scores, FeatureValue) and scores.shape else ()
    count = len(labels) or next((n for n in columns if n), 0)
    if not count:
        raise call.unsupported("neither labels nor the shape of its scores say how many classes there are")
    return count


def _non_maximum_suppression(call: ModelCall) -> Features:
    """Rows of boxes, best first, and of their scores: as many as are left. Thresholds are the model's own."""
    params = call.params
    classes = _count_classes(call)

    def operand(name: str, width: int) -> str:
        count = call.count(name)
        if count is not None and count % width:
            raise call.unsupported(f"its input {name!r} has {count} elements, which are no rows of {width}")
        return call.node("Reshape", [call.flat(name), call.integers([1, -1, width])])

    boxes = operand(params.coordinatesInputFeatureName, 4)
    scores = operand(params.confidenceInputFeatureName, classes)
    count = call.count(params.coordinatesInputFeatureName)
    most = _MOST if count is None else count // 4
    _, places = best_first(
        call, boxes, scores, params.iouThreshold, params.confidenceThreshold, most, params.pickTop.perClass
    )

    def rows(value: str, width: int) -> FeatureValue:
        whole = call.node("Squeeze", [value, call.integers([0])])
        return FeatureValue(call.node("Gather", [whole, places], axis=0), "float32", (None, width))

    return {
        params.confidenceOutputFeatureName: rows(scores, classes),
        params.coordinatesOutputFeatureName: rows(boxes, 4),
    }


SUPPRESSION: Mapping[str, ModelHandler] = {"nonMaximumSuppression": _non_maximum_suppression}
