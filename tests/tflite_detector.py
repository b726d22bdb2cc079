"""A TFLite file whose boxes are selected behind a detector."""

from __future__ import annotations

from typing import Any

import numpy as np
from tflite_models import Writer


def detector(
    anchors: int = 40, classes: int = 3, most: int = 6, each: int = 1, length: int | None = None, **more: Any
) -> bytes:
    """`each` is how many classes a box has; `more` are other options, of which the first `length` bytes are kept."""
    from flatbuffers import flexbuffers

    writer = Writer()
    boxes = writer.input("boxes", "float32", (1, anchors, 4))
    scores = writer.input("scores", "float32", (1, anchors, classes + 1))
    y, x = np.meshgrid(np.linspace(0.1, 0.9, 8), np.linspace(0.1, 0.9, 5), indexing="ij")
    places = np.stack([y.ravel(), x.ravel(), np.full(anchors, 0.2), np.full(anchors, 0.3)], 1).astype(np.float32)
    table = writer.tensor("anchors", "float32", places.shape, places)
    count = most * each
    shapes = (1, count, 4), (1, count), (1, count), (1,)
    results = [writer.tensor(f"r{i}", "float32", s) for i, s in enumerate(shapes)]
    for i in results:
        writer.output(i)
    options = {
        "max_detections": most,
        "max_classes_per_detection": each,
        "num_classes": classes,
        "use_regular_nms": False,
    }
    options |= {"nms_score_threshold": 0.3, "nms_iou_threshold": 0.4}
    options |= {"y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0, "w_scale": 5.0}
    custom = bytes(flexbuffers.Dumps({**options, **more}))[:length]
    writer.operator("TFLite_Detection_PostProcess", [boxes, scores, table], results, custom=custom)
    return writer.bytes()
