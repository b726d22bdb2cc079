"""A decoder of which the newest rows stay, and runs of it by onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx
import onnxruntime
from decoder_reference import session
from onnx import TensorProto as T
from onnx import helper

from benchmarks.decoder_model import DecoderSize, decoder_model

Array = np.ndarray

NAMES = ("batch_size", "past_sequence_length", "sequence_length")
SMALL = decoder_model(DecoderSize(layers=2, heads=3, size=6, words=37, positions=500, names=NAMES))
"""Its mask takes positions for places in the cache, which the reference is told apart."""
ROWS, MOST = 19, 7
LENGTHS = (3, 1, 7, 2, 1, 1, 5, 7, 1, 1, 1, 4, 7, 7, 1, 2, 1, 1, 6, 1)
"""Rows of runs that find no room in each way: of one row and of more, and twice in turn."""


@dataclass
class Passed:
    """A model in onnxruntime, which is passed the last rows of the caches that the run before gave, and positions."""

    model: onnxruntime.InferenceSession
    rows: int
    head: int = 0
    caches: dict[str, Array] = field(default_factory=dict)
    position: int = 0

    def __post_init__(self) -> None:
        for i in self.model.get_inputs():
            if i.name.startswith("past"):
                _, heads, _, size = i.shape
                self.caches[i.name] = np.zeros((1, heads, 0, size if isinstance(size, int) else self.head), np.float32)

    def run(self, ids: Sequence[int]) -> Array:
        """The logits [length, words] of these words."""
        there = next(iter(self.caches.values())).shape[2]
        if there + len(ids) > self.rows:
            there = min(self.rows // 2, self.rows - len(ids))
        caches = {name: a[:, :, a.shape[2] - there :] for name, a in self.caches.items()}
        feeds = {
            "input_ids": np.array([ids], np.int64),
            "position_ids": np.arange(self.position, self.position + len(ids))[None],
            "row_places": np.arange(there, there + len(ids))[None],
            "attention_mask": np.ones((1, there + len(ids)), np.int64),
        }
        given = {i.name: feeds[i.name] for i in self.model.get_inputs() if i.name in feeds}
        names = [o.name for o in self.model.get_outputs()]
        results = dict(zip(names, self.model.run(names, {**given, **caches}), strict=True))
        self.caches = {name: results[name.replace("past_key_values", "present")] for name in self.caches}
        self.position += len(ids)
        return np.asarray(results["logits"][0])


def passed(model: onnx.ModelProto = SMALL, rows: int = ROWS, head: int = 0) -> Passed:
    told = onnx.ModelProto()
    told.CopyFrom(model)
    for node in told.graph.node:
        if node.name == "behind":
            node.input[0] = "row_places"
            told.graph.input.append(
                helper.make_tensor_value_info("row_places", T.INT64, ["batch_size", "sequence_length"])
            )
    return Passed(session(told.SerializeToString()), rows, head)


def sentence(seed: int = 0, words: int = 37) -> list[list[int]]:
    generator = np.random.default_rng(seed)
    return [generator.integers(0, words, n).tolist() for n in LENGTHS]


OPTIONS = [
    *("--dim=batch_size=1", f"--dim=past_sequence_length=0..{ROWS}", f"--dim=sequence_length=1..{MOST}"),
    f"--state-window={ROWS}",
]
"""Options of the command line."""
