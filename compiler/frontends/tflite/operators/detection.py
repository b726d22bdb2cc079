"""`TFLite_Detection_PostProcess`: boxes of a detector of the SSD family, decoded and without those that overlap better
ones (Liu et al.: SSD, ECCV 2016)."""

from __future__ import annotations

from typing import Any

from flatbuffers import flexbuffers

from ..call import Call, Handler


def _post_process(call: Call) -> None:
    """Selects anchors by their best class; results are as many as there can be, zero from the number found on."""
    options: dict[str, Any] = flexbuffers.Loads(call.operator.custom)
    most = int(options["max_detections"])
    if options.get("use_regular_nms"):
        raise call.unsupported("boxes of each class are selected apart (use_regular_nms)")
    if int(options.get("max_classes_per_detection", 1)) != 1:
        raise call.unsupported("a box may have several classes")
    anchors, classes = call.shape(2)[0], call.shape(1)[-1]
    boxes = call.node("Reshape", [_decoded(call, options), call.integers([1, anchors, 4])])
    known = call.node(
        "Slice", [call.read(1), *map(call.integers, ([classes - int(options["num_classes"])], [classes], [2]))]
    )
    scores = call.node("ReduceMax", [known, call.integers([2])], keepdims=0)
    kinds = call.node("ArgMax", [known], axis=2, keepdims=0)
    limits = [call.number(options[name]) for name in ("nms_iou_threshold", "nms_score_threshold")]
    by_class = call.node("Unsqueeze", [scores, call.integers([1])])
    chosen = call.node("NonMaxSuppression", [boxes, by_class, call.integers([most]), *limits])
    places = call.node(
        "Squeeze", [call.node("Slice", [chosen, *map(call.integers, ([2], [3], [1]))]), call.integers([1])]
    )
    count = call.node("Shape", [places])

    def taken(value: str, rank: int) -> str:
        """The chosen rows of a value, and zeros."""
        rows = call.node("Gather", [call.node("Squeeze", [value, call.integers([0])]), places], axis=0)
        left = call.node("Sub", [call.integers([most]), count])
        zeros = call.integers([0] * rank)
        after = [left] if rank == 1 else [left, call.integers([0])]
        padded = call.node("Pad", [rows, call.node("Concat", [zeros, *after], axis=0), call.number(0)])
        return call.node("Unsqueeze", [padded, call.integers([0])])

    call.store(taken(boxes, 2))
    call.store(taken(call.cast(kinds, "float32"), 1), 1)
    call.store(taken(scores, 1), 2)
    call.store(call.cast(count, "float32"), 3)


def _decoded(call: Call, options: dict[str, Any]) -> str:
    """Corners of boxes, from their centres and sizes relative to the anchors."""
    y, x, h, w = call.nodes("Split", [call.read(0), call.integers([1] * 4)], 4, axis=2)
    ay, ax, ah, aw = call.nodes("Split", [call.read(2), call.integers([1] * 4)], 4, axis=1)
    corners = []
    for centre, size, ac, a, cs, ss in ((y, h, ay, ah, "y_scale", "h_scale"), (x, w, ax, aw, "x_scale", "w_scale")):
        moved = call.node("Mul", [call.node("Div", [centre, call.number(options[cs])]), a])
        middle = call.node("Add", [moved, ac])
        grown = call.node("Exp", [call.node("Div", [size, call.number(options[ss])])])
        half = call.node("Mul", [call.node("Mul", [grown, a]), call.number(0.5)])
        corners.append((call.node("Sub", [middle, half]), call.node("Add", [middle, half])))
    (top, bottom), (left, right) = corners
    return call.node("Concat", [top, left, bottom, right], axis=2)


CUSTOM: dict[str, Handler] = {"TFLite_Detection_PostProcess": _post_process}
