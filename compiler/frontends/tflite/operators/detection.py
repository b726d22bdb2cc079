"""`TFLite_Detection_PostProcess`: boxes of a detector of the SSD family, decoded and without those that overlap better
ones (Liu et al.: SSD, ECCV 2016)."""

from __future__ import annotations

from typing import Any

import numpy as np
from flatbuffers import flexbuffers

from ....errors import InputError
from ..call import Call, Handler
from ..read_model import DAMAGES

_NUMBERS = (
    *("max_detections", "num_classes", "nms_score_threshold", "nms_iou_threshold"),
    *("y_scale", "x_scale", "h_scale", "w_scale"),
)
"""Options that have no default."""


def _post_process(call: Call) -> None:
    """Results are as many as there can be, zero from the number found on."""
    options = _options(call)
    anchors, classes = call.shape(2)[0], call.shape(1)[-1]
    if not 1 <= int(options["num_classes"]) <= classes:
        raise call.unsupported(f"{options['num_classes']} classes, where its scores are of {classes}")
    boxes = call.node("Reshape", [_decoded(call, options), call.integers([1, anchors, 4])])
    known = call.node(
        "Slice", [call.read(1), *map(call.integers, ([classes - int(options["num_classes"])], [classes], [2]))]
    )
    (_of_each_class if options.get("use_regular_nms") else _of_best_classes)(call, options, boxes, known)


def _options(call: Call) -> dict[str, Any]:
    """Custom options by name. InputError where they cannot be read, or one that has no default is missing."""
    try:
        options: dict[str, Any] = flexbuffers.Loads(call.operator.custom)
        is_whole = all(isinstance(options[name], int | float) for name in _NUMBERS)
    except DAMAGES:
        is_whole = False
    if not is_whole:
        raise InputError(
            f"{call.scope.model.name} is not a valid TFLite model: {call.operator.kind} ({call.stem!r}): its options "
            "cannot be read, or lack some; convert it again"
        )
    return options


def _limits(call: Call, options: dict[str, Any]) -> list[str]:
    """The highest overlap, and the number just below the lowest score: ONNX takes scores above it, TFLite that one,
    too. It is a normal number: some devices take others for zero."""
    lowest = np.float32(options["nms_score_threshold"])
    below = np.nextafter(lowest, np.float32(-np.inf)) if lowest else -np.finfo(np.float32).tiny
    return [call.number(options["nms_iou_threshold"]), call.number(float(below))]


def _of_best_classes(call: Call, options: dict[str, Any], boxes: str, known: str) -> None:
    """Selects anchors by their best class. Each has the `max_classes_per_detection` best ones, one after the other."""
    most, each = int(options["max_detections"]), int(options.get("max_classes_per_detection", 1))
    given = min(each, int(options["num_classes"]))
    if given == 1:
        scores = call.node("ReduceMax", [known, call.integers([2])], keepdims=1)
        kinds = call.node("ArgMax", [known], axis=2, keepdims=1)
    else:
        scores, kinds = call.nodes("TopK", [known, call.integers([given])], 2, axis=2)
    best = call.node("Slice", [scores, *map(call.integers, ([0], [1], [2]))])
    by_class = call.node("Transpose", [best], perm=[0, 2, 1])
    chosen = call.node("NonMaxSuppression", [boxes, by_class, call.integers([most]), *_limits(call, options)])
    places = call.node(
        "Squeeze", [call.node("Slice", [chosen, *map(call.integers, ([2], [3], [1]))]), call.integers([1])]
    )
    count = call.node("Shape", [places])

    def taken(value: str, columns: int, width: int) -> str:
        """The chosen rows of a value of `width` columns, and zeros: most x columns."""
        rows = call.node("Gather", [call.node("Squeeze", [value, call.integers([0])]), places], axis=0)
        left = call.node("Sub", [call.integers([most]), count])
        ends = call.node("Concat", [call.integers([0, 0]), left, call.integers([columns - width])], axis=0)
        return call.node("Pad", [rows, ends, call.number(0)])

    wide = call.node("Unsqueeze", [taken(boxes, 4, 4), call.integers([1])])
    repeated = call.node("Expand", [wide, call.integers([most, each, 4])])
    call.store(call.node("Reshape", [repeated, call.integers([1, most * each, 4])]))
    flat = call.integers([1, most * each])
    call.store(call.node("Reshape", [taken(call.cast(kinds, "float32"), each, given), flat]), 1)
    call.store(call.node("Reshape", [taken(scores, each, given), flat]), 2)
    call.store(call.cast(count, "float32"), 3)


def _of_each_class(call: Call, options: dict[str, Any], boxes: str, known: str) -> None:
    """Selects anchors of each class apart, and of all these the ones with the highest scores."""
    most, each = int(options["max_detections"]), int(options.get("max_classes_per_detection", 1))
    of_class = min(most, int(options.get("detections_per_class", 100)))
    scores = call.node("Transpose", [known], perm=[0, 2, 1])
    chosen = call.node("NonMaxSuppression", [boxes, scores, call.integers([of_class]), *_limits(call, options)])
    found = call.node(
        "Min",
        [call.node("Slice", [call.node("Shape", [chosen]), *map(call.integers, ([0], [1]))]), call.integers([most])],
    )
    # Rows behind them, so that there are as many as results. All that is found has a higher score.
    rows = call.node("Pad", [chosen, call.integers([0, 0, most, 0]), call.number(0, "int64")])
    own = call.node("GatherND", [scores, chosen])
    low = call.node("Pad", [own, call.integers([0, most]), call.number(float(np.finfo(np.float32).min))])
    best, order = call.nodes("TopK", [low, call.integers([most])], 2, axis=0)
    rows = call.node("Gather", [rows, order], axis=0)
    numbers = call.builder.constant(np.arange(most), "numbers")
    is_found = call.node("Less", [numbers, found])

    def column(i: int) -> str:
        part = call.node("Slice", [rows, *map(call.integers, ([i], [i + 1], [1]))])
        return call.node("Squeeze", [part, call.integers([1])])

    def stored(value: str, i: int, shape: list[int]) -> None:
        """Zeros where nothing is found, and as many rows as there would be of boxes with several classes."""
        inner = shape[1:]
        mask = call.node("Reshape", [is_found, call.integers([most] + [1] * len(inner))])
        value = call.node("Where", [mask, value, call.number(0)])
        ends = call.integers([0] * len(shape) + [most * (each - 1)] + [0] * len(inner))
        value = call.node("Pad", [value, ends, call.number(0)]) if each > 1 else value
        call.store(call.node("Unsqueeze", [value, call.integers([0])]), i)

    stored(call.node("Gather", [call.node("Squeeze", [boxes, call.integers([0])]), column(2)], axis=0), 0, [most, 4])
    stored(call.cast(column(1), "float32"), 1, [most])
    stored(best, 2, [most])
    call.store(call.cast(found, "float32"), 3)


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
