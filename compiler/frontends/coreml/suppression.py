"""Suppression of boxes that overlap better ones, as programs and neural networks have it."""

from __future__ import annotations

from ..converted_call import ConvertedCall


def best_first(
    call: ConvertedCall, boxes: str, scores: str, overlap: float, least: float, most: int, per_class: bool
) -> tuple[str, str]:
    """The best score of each box [N], and the places of the boxes that are left, int64, best first; operands are those
    of `suppressed`."""
    best = call.node("ReduceMax", [scores, call.integers([2])], keepdims=0)
    if per_class:  # other classes' scores are below every threshold
        own = call.node("Equal", [scores, call.node("Unsqueeze", [best, call.integers([2])])])
        rows = call.node("Where", [own, scores, call.number(-3e38)])
        by_class = call.node("Transpose", [rows], perm=[0, 2, 1])
    else:
        by_class = call.node("Unsqueeze", [best, call.integers([1])])
    limits = [call.integers([most]), call.number(overlap), call.number(max(least, -1e38))]
    chosen = call.node("NonMaxSuppression", [boxes, by_class, *limits], center_point_box=1)
    found = call.node("Gather", [chosen, call.integers(2)], axis=1)
    flat = call.node("Squeeze", [best, call.integers([0])])
    _, order = call.nodes("TopK", [call.node("Gather", [flat, found], axis=0), call.node("Shape", [found])], 2, axis=0)
    return flat, call.node("Gather", [found, order], axis=0)


def suppressed(
    call: ConvertedCall, boxes: str, scores: str, overlap: float, least: float, most: int, per_class: bool
) -> list[str]:
    """The boxes that are left, best first, with their scores, places (int64) and number, each for a batch of one.

    `boxes` are 1 x N x 4, a centre and a size; `scores` 1 x N x classes, of which the best is a box's. Rows from the
    number on are 0, places -1. Where no score is above `least`, the best box is left.
    """
    first = call.integers([0])
    flat, sorted_ = best_first(call, boxes, scores, overlap, least, most, per_class)
    fallback = call.node("ArgMax", [flat], axis=0, keepdims=1)
    count = call.node(
        "Max", [call.node("Min", [call.node("Shape", [sorted_]), call.integers([most])]), call.integers([1])]
    )
    places = call.node("Slice", [call.node("Concat", [sorted_, fallback], axis=0), first, count])
    left = call.node("Sub", [call.integers([most]), count])

    def rows_of(value: str) -> str:
        taken = call.node("Gather", [call.node("Squeeze", [value, first]), places], axis=0)
        shape = call.node("Concat", [left, call.node("Shape", [value], start=2)], axis=0)
        zeros = call.node("Expand", [call.number(0.0), shape])
        return call.node("Unsqueeze", [call.node("Concat", [taken, zeros], axis=0), first])

    none = call.node("Expand", [call.integers(-1), left])
    whole = call.node("Unsqueeze", [call.node("Concat", [places, none], axis=0), first])
    return [rows_of(boxes), rows_of(scores), whole, count]
