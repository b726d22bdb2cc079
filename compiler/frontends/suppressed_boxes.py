"""The suppression of boxes of one image and of one class, as formats have it that are not ONNX."""

from __future__ import annotations

from collections.abc import Sequence

from .converted_call import ConvertedCall


def suppressed(call: ConvertedCall, boxes: str, scores: str, most: str, limits: Sequence[str]) -> str:
    """The places, int64[found], of boxes that no better one overlaps by more than the threshold, the best first.

    `boxes` are float32[n, 4], their `scores` float32[n], `most` int64[1]; `limits` are the thresholds of overlaps and
    of scores, each of one element. ONNX has batches and classes, of which there is one.
    """
    operands = [
        call.node("Unsqueeze", [boxes, call.integers([0])]),
        call.node("Unsqueeze", [scores, call.integers([0, 1])]),
        most,
        *(call.node("Reshape", [limit, call.integers([1])]) for limit in limits),
    ]
    rows = call.node("NonMaxSuppression", operands)
    last = call.node("Slice", [rows, *map(call.integers, ([2], [3], [1]))])
    return call.node("Squeeze", [last, call.integers([1])])


def padded(call: ConvertedCall, values: str, most: str, zero: str) -> str:
    """`values`, a vector, and behind them as many zeros as make `most`, int64[1]."""
    left = call.node("Sub", [most, call.node("Shape", [values])])
    return call.node("Pad", [values, call.node("Concat", [call.integers([0]), left], axis=0), zero])
