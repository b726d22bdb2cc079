"""Rows of SelectBoxes, by what NumPy chooses."""

from __future__ import annotations

import numpy as np
from op_cases._arrays import Arrays
from op_table import Array, Case

_a = Arrays(81)


def chosen(
    boxes: Array, scores: Array, classes: Array, threshold: float, overlap: float, most: int
) -> tuple[Array, Array, Array]:
    """The best boxes one by one, each without those of its class that a better one overlaps."""
    left, kept = np.where(scores > threshold, scores, 0), []
    areas = boxes[:, 2] * boxes[:, 3]
    while left.any() and len(kept) < most:
        best = int(left.argmax())
        kept.append(best)
        near = np.maximum(boxes[:, :2], boxes[best, :2])
        far = np.minimum(boxes[:, :2] + boxes[:, 2:], boxes[best, :2] + boxes[best, 2:])
        common = np.maximum(far - near, 0).prod(axis=1)
        left = np.where((classes == classes[best]) & (common > overlap * (areas + areas[best] - common)), 0, left)
        left[best] = 0
    results = tuple(np.zeros((most, *a.shape[1:]), a.dtype) for a in (boxes, scores, classes))
    for result, a in zip(results, (boxes, scores, classes), strict=True):
        result[: len(kept)] = a[kept]
    return results


def _case(name: str, count: int, most: int, threshold: float = 0.3, overlap: float = 0.4, kinds: int = 3) -> Case:
    near = _a.uniform(0, 6, count, 2)
    boxes = np.concatenate((near, _a.uniform(1, 5, count, 2)), axis=1).astype(np.float32)
    scores, classes = _a.uniform(0, 1, count).astype(np.float32), _a.integers(0, kinds, count, dtype="int32")
    attributes = {"threshold": threshold, "overlap": overlap, "most": most}
    inputs = (boxes, scores, classes)
    want, domain = chosen(*inputs, threshold, overlap, most), "webnn_compile"
    return Case(f"selectboxes-{name}", "SelectBoxes", inputs, attributes, 1, outputs=3, expected=want, domain=domain)


CASES = [
    _case("some", 40, 20),
    _case("few places", 60, 3, overlap=0.8),
    _case("more places than boxes", 5, 12, overlap=0.1),
    _case("one class", 50, 30, kinds=1),
    _case("none", 30, 4, threshold=1.0),
    _case("all", 33, 33, threshold=0.0, overlap=1.0),
]
