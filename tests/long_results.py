"""Recurrent networks, loops and selections of real models' sizes: results longer than the
2,048 texels, each of four elements, of a row of a texture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx_models import Array, Shape, model, node, random


@dataclass(frozen=True)
class LongResult:
    """A model, the ranges of its sizes, and inputs, of several sizes where they vary."""

    proto: onnx.ModelProto
    feeds: Sequence[Mapping[str, Array]]
    dims: Mapping[str, tuple[int, int]] = field(default_factory=dict)


def recurrent(
    op: str, gates: int, steps: Sequence[int], batch: Sequence[int], hidden: int, directions: int = 1
) -> LongResult:
    """A recurrent layer over 8 features; `steps` and `batch` vary where they are two sizes."""
    weights = {
        "w": random((directions, gates * hidden, 8), 1) / 3,
        "r": random((directions, gates * hidden, hidden), 2) / hidden**0.5,
    }
    shape: Shape = ["steps" if len(steps) > 1 else steps[0], "batch" if len(batch) > 1 else batch[0], 8]
    direction = "bidirectional" if directions == 2 else "forward"
    nodes = [node(op, ["x", "w", "r"], ["y", "last"], hidden_size=hidden, direction=direction)]
    dims = {n: (1, max(sizes)) for n, sizes in (("steps", steps), ("batch", batch)) if len(sizes) > 1}
    runs = range(max(len(steps), len(batch)))
    feeds = [{"x": random((steps[i % len(steps)], batch[i % len(batch)], 8), i)} for i in runs]
    return LongResult(model(nodes, {"x": shape}, ["y", "last"], weights), feeds, dims)


def loop(*rows: int) -> LongResult:
    """Forty running sums, all of which are kept."""
    body = helper.make_graph(
        [
            node("Gather", ["x", "i"], ["row"]),
            node("Add", ["sum", "row"], ["next"]),
            node("Identity", ["c"], ["same"]),
            node("Neg", ["next"], ["kept"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
            helper.make_tensor_value_info("sum", TensorProto.FLOAT, [40]),
        ],
        [helper.make_empty_tensor_value_info(n) for n in ("same", "next", "kept")],
    )
    nodes = [
        node("Shape", ["x"], ["many"], end=1),
        node("Squeeze", ["many"], ["trips"]),
        node("Loop", ["trips", "", "start"], ["last", "y"], body=body),
    ]
    varies = len(rows) > 1
    made = model(nodes, {"x": ["rows" if varies else rows[0], 40]}, ["last", "y"], {"start": np.zeros(40, np.float32)})
    return LongResult(made, [{"x": random((n, 40), n)} for n in rows], {"rows": (1, max(rows))} if varies else {})


def scan(*rows: int) -> LongResult:
    """Running maxima of forty numbers, and the way back."""
    body = helper.make_graph(
        [node("Max", ["most", "row"], ["next"]), node("Sub", ["next", "back"], ["kept"])],
        "body",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, [40]) for n in ("most", "row", "back")],
        [helper.make_empty_tensor_value_info(n) for n in ("next", "kept")],
    )
    directions = {"scan_input_directions": [0, 1], "scan_output_directions": [1]}
    nodes = [node("Scan", ["start", "x", "x"], ["last", "y"], body=body, num_scan_inputs=2, **directions)]
    varies = len(rows) > 1
    made = model(nodes, {"x": ["rows" if varies else rows[0], 40]}, ["last", "y"], {"start": np.zeros(40, np.float32)})
    return LongResult(made, [{"x": random((n, 40), n)} for n in rows], {"rows": (1, max(rows))} if varies else {})


def suppression(*boxes: int) -> LongResult:
    """As a detector selects its boxes: of each class as many as a run says."""
    weights = {"overlap": np.float32([0.5]), "score": np.float32([0.1])}
    count = "boxes" if len(boxes) > 1 else boxes[0]
    nodes = [node("NonMaxSuppression", ["b", "s", "most", "overlap", "score"], ["y"])]
    feeds = []
    for n in boxes:
        corner = np.random.default_rng(n).uniform(0, 50, (1, n, 2))
        b = np.concatenate([corner, corner + 5], axis=2).astype(np.float32)
        feeds.append({"b": b, "s": np.random.default_rng(1).permutation(n).reshape(1, 1, n).astype(np.float32) / n})
        feeds[-1]["most"] = np.int64([10])
    dims = {"boxes": (1, max(boxes))} if len(boxes) > 1 else {}
    made = model(nodes, {"b": [1, count, 4], "s": [1, 1, count]}, ["y"], weights)
    made.graph.input.append(helper.make_tensor_value_info("most", TensorProto.INT64, [1]))
    return LongResult(made, feeds, dims)


def selection(*columns: int) -> LongResult:
    """The largest of many, and which are positive."""
    nodes = [node("TopK", ["x", "k"], ["largest", "where"]), node("NonZero", ["positive"], ["y"])]
    nodes.insert(0, node("Relu", ["x"], ["positive"]))
    count = "columns" if len(columns) > 1 else columns[0]
    made = model(nodes, {"x": [2, count]}, ["largest", "where", "y"], {"k": np.int64([100])})
    dims = {"columns": (100, max(columns))} if len(columns) > 1 else {}
    return LongResult(made, [{"x": random((2, n), n)} for n in columns], dims)


MODELS = {
    "an LSTM both ways": lambda: recurrent("LSTM", 4, [26], [1], 256, 2),
    "an LSTM of steps that vary": lambda: recurrent("LSTM", 4, [300, 7, 150], [1], 32),
    "a GRU of a batch that varies": lambda: recurrent("GRU", 3, [150], [4, 1, 3], 16),
    "a GRU of steps and a batch that vary": lambda: recurrent("GRU", 3, [100, 3, 60], [3, 1, 2], 32),
    "an RNN both ways": lambda: recurrent("RNN", 1, [300], [1], 16, 2),
    "a loop": lambda: loop(300),
    "a loop of rows that vary": lambda: loop(300, 4, 230),
    "a scan": lambda: scan(300),
    "a scan of rows that vary": lambda: scan(300, 4, 230),
    "suppression": lambda: suppression(2100),
    "suppression of boxes that vary": lambda: suppression(2100, 5, 2060),
    "selection": lambda: selection(9000),
    "selection of columns that vary": lambda: selection(9000, 100, 8200),
}
