"""Boxes of detectors of the SSD family: those that are looked at, and those that are found.

Source: Liu et al.: SSD, ECCV 2016; PriorBoxLayer and DetectionOutputLayer of its branch of Caffe (weiliu89).
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
from onnx import TensorProto

from ...ranked_call import Value
from ..call import Call, Handler

_CORNER, _CENTER_SIZE = 1, 2


def _prior_box(call: Call) -> Value:
    """Boxes [1, 2, 4 * number], corners as shares of the image: around the centre of each position of the first
    operand, some of each size and aspect; then their variances."""
    p = call.parameters("prior_box_param")
    if len(p.variance) not in (0, 1, 4):
        raise call.unsupported(f"{len(p.variance)} variances")
    # Widths come before heights, as in boxes.
    cells = _reversed(call, call.sizes(call.x, 2, 4))
    image = _stated(call, p.img_w or p.img_size, p.img_h or p.img_size) or _reversed(
        call, call.sizes(call.value(1), 2, 4)
    )
    step = _stated(call, p.step_w or p.step, p.step_h or p.step) or call.node("Div", [image, cells])
    centres = []
    for axis in (0, 1):
        count, size, width = (_element(call, v, axis) for v in (cells, step, image))
        places = call.node("Range", [call.number(0), count, call.number(1)])
        at = call.node("Mul", [call.node("Add", [places, call.number(p.offset)]), size])
        centres.append(call.node("Div", [at, width]))
    x = call.node("Unsqueeze", [centres[0], call.integers([0, 2, 3])])
    y = call.node("Unsqueeze", [centres[1], call.integers([1, 2, 3])])
    both = [call.node("Add", [a, call.node("Mul", [b, call.number(0)])]) for a, b in ((x, y), (y, x))]
    centre = call.node("Concat", both, axis=3)
    half = call.node("Div", [call.constant(np.array(_shapes(call), np.float32) / 2, "sizes"), image])
    boxes = call.node("Concat", [call.node(op, [centre, half]) for op in ("Sub", "Add")], axis=3)
    if p.clip:
        boxes = call.node("Clip", [boxes, call.number(0), call.number(1)])
    variance = (list(p.variance) or [0.1]) * (1 if len(p.variance) == 4 else 4)
    variances = call.node("Expand", [call.constant(np.array(variance, np.float32)), call.node("Shape", [boxes])])
    rows = [call.node("Reshape", [v, call.integers([1, 1, -1])]) for v in (boxes, variances)]
    return Value(call.node("Concat", rows, axis=1), 3)


def _shapes(call: Call) -> list[tuple[float, float]]:
    """The widths and heights of the boxes around one position, in pixels."""
    p = call.parameters("prior_box_param")
    aspects: list[float] = []
    for ratio in p.aspect_ratio:
        if ratio <= 0:
            raise call.unsupported(f"the aspect ratio {ratio}")
        for r in (ratio, 1 / ratio) if p.flip else (ratio,):
            if all(abs(r - known) > 1e-6 for known in (1, *aspects)):
                aspects.append(r)
    if not p.min_size or (p.max_size and len(p.max_size) != len(p.min_size)):
        raise call.unsupported(f"{len(p.min_size)} least and {len(p.max_size)} greatest sizes")
    found = []
    for i, size in enumerate(p.min_size):
        found.append((size, size))
        if p.max_size:
            found.append((sqrt(size * p.max_size[i]),) * 2)
        found += [(size * sqrt(r), size / sqrt(r)) for r in aspects]
    return found


def _reversed(call: Call, sizes: str) -> str:
    """Rows and columns as columns and rows, in real numbers."""
    swapped = call.node("Gather", [sizes, call.integers([1, 0])])
    return call.node("Cast", [swapped], to=TensorProto.FLOAT)


def _stated(call: Call, width: float, height: float) -> str | None:
    return call.constant(np.array([width, height], np.float32), "stated") if width and height else None


def _element(call: Call, vector: str, i: int) -> str:
    return call.node("Gather", [vector, call.integers(i)])


def _detection_output(call: Call) -> Value:
    """Rows [1, 1, number found, 7] of one image: 0, class, score and corners, by class and then by score."""
    p = call.parameters("detection_output_param")
    nms = p.nms_param
    if not p.share_location or p.code_type not in (_CORNER, _CENTER_SIZE) or nms.eta != 1:
        raise call.unsupported("boxes of each class, corners with sizes, or an overlap that varies (eta)")
    classes = [c for c in range(p.num_classes) if c != p.background_label_id]
    boxes = _decoded(call, p)
    by_box = call.node("Reshape", [call.value(1).name, call.integers([1, -1, p.num_classes])])
    scores = call.node("Gather", [call.node("Transpose", [by_box], perm=[0, 2, 1]), call.integers(classes)], axis=1)
    most = call.node("Squeeze", [call.node("Shape", [boxes], start=1, end=2), call.integers([0])])
    if nms.top_k > 0:
        most = call.node("Min", [most, call.integers(nms.top_k)])
        scores = _best(call, scores, most)
    limits = [call.number(nms.nms_threshold), call.number(p.confidence_threshold)]
    chosen = call.node(
        "NonMaxSuppression", [boxes, scores, call.node("Unsqueeze", [most, call.integers([0])]), *limits]
    )
    _, kind, place = (_column(call, chosen, i) for i in range(3))
    flat = call.node("Reshape", [scores, call.integers([-1])])
    count = call.node("Squeeze", [call.node("Shape", [boxes], start=1, end=2), call.integers([0])])
    score = call.node("Gather", [flat, call.node("Add", [call.node("Mul", [kind, count]), place])])
    label = call.node("Gather", [call.constant(np.array(classes, np.float32), "classes"), kind])
    corners = call.node("Gather", [call.node("Squeeze", [boxes, call.integers([0])]), place])
    columns = [call.node("Unsqueeze", [v, call.integers([1])]) for v in (label, score)]
    image = call.node("Mul", [columns[0], call.number(0)])
    rows = call.node("Concat", [image, *columns, corners], axis=1)
    if p.keep_top_k > 0:
        rows = _kept(call, rows, score, flat, p.keep_top_k)
    return Value(call.node("Unsqueeze", [rows, call.integers([0, 1])]), 4)


def _decoded(call: Call, p: Any) -> str:
    """Corners of boxes, from what is stated relative to the prior ones."""
    offsets = call.node("Reshape", [call.x.name, call.integers([1, -1, 4])])
    priors = call.node("Reshape", [call.value(2).name, call.integers([2, -1, 4])])
    prior, variance = call.nodes("Split", [priors], 2, axis=0, num_outputs=2)
    if not p.variance_encoded_in_target:
        offsets = call.node("Mul", [offsets, variance])
    if p.code_type == _CORNER:
        return call.node("Add", [prior, offsets])
    first, last = call.nodes("Split", [prior], 2, axis=2, num_outputs=2)
    moved, grown = call.nodes("Split", [offsets], 2, axis=2, num_outputs=2)
    size = call.node("Sub", [last, first])
    centre = call.node("Mul", [call.node("Add", [first, last]), call.number(0.5)])
    centre = call.node("Add", [call.node("Mul", [moved, size]), centre])
    half = call.node("Mul", [call.node("Mul", [call.node("Exp", [grown]), size]), call.number(0.5)])
    return call.node("Concat", [call.node(op, [centre, half]) for op in ("Sub", "Add")], axis=2)


def _best(call: Call, scores: str, most: str) -> str:
    """The scores, with -1 for those that are not among the most of their class."""
    top, _ = call.nodes("TopK", [scores, call.node("Unsqueeze", [most, call.integers([0])])], 2, axis=2)
    least = call.node("ReduceMin", [top, call.integers([2])])
    return call.node("Where", [call.node("Less", [scores, least]), call.number(-1), scores])


def _column(call: Call, chosen: str, i: int) -> str:
    return call.node("Gather", [chosen, call.integers(i)], axis=1)


def _kept(call: Call, rows: str, score: str, flat: str, most: int) -> str:
    """The rows of the best scores, in the order that they have. There may be as many rows as scores of all classes."""
    places = call.node("Shape", [flat])
    left = call.node("Sub", [places, call.node("Shape", [score])])
    pads = call.node("Concat", [call.integers([0]), left], axis=0)
    padded = call.node("Pad", [score, pads, call.number(-1)])
    top, _ = call.nodes("TopK", [padded, call.node("Min", [places, call.integers([most])])], 2, axis=0)
    least = call.node("ReduceMin", [top, call.integers([0])])
    return call.node("Compress", [rows, call.node("GreaterOrEqual", [score, least])], axis=0)


LAYERS: dict[str, Handler] = {"DetectionOutput": _detection_output, "PriorBox": _prior_box}
