"""A tiny decoder with caches, as exporters write them, and runs of it by onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import onnx
import onnxruntime

from benchmarks.decoder_model import DecoderSize, decoder_model

Array = np.ndarray

POSITIONS = 64
WORDS = 37
MOST_NEW = 5
DIMS = {"batch": 1, "past": (0, POSITIONS - MOST_NEW), "seq": (1, MOST_NEW)}
"""Sizes for which a run beyond the caches' room is one beyond the table of positions, too."""


def tiny_decoder() -> onnx.ModelProto:
    """Its sizes have the names of DIMS."""
    size = DecoderSize(layers=2, heads=2, size=8, words=WORDS, positions=POSITIONS, names=("batch", "past", "seq"))
    return decoder_model(size)


@dataclass
class Passed:
    """onnxruntime, which is passed the caches that the run before gave."""

    session: onnxruntime.InferenceSession
    caches: dict[str, Array]

    @staticmethod
    def of(model: onnx.ModelProto) -> Passed:
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        pasts = [i for i in session.get_inputs() if i.name.startswith("past")]
        return Passed(session, {i.name: np.zeros((1, i.shape[1], 0, i.shape[3]), np.float32) for i in pasts})

    @property
    def position(self) -> int:
        """The tokens so far."""
        return int(next(iter(self.caches.values())).shape[2])

    def run(self, ids: Sequence[int]) -> Array:
        """The logits [seq, WORDS] of these words behind those of the runs before."""
        at = self.position
        feeds = {
            "input_ids": np.array([ids], np.int64),
            "position_ids": np.arange(at, at + len(ids))[None],
            "attention_mask": np.ones((1, at + len(ids)), np.int64),
        }
        names = [o.name for o in self.session.get_outputs()]
        results = dict(zip(names, self.session.run(names, {**feeds, **self.caches}), strict=True))
        self.caches = {name: results[name.replace("past_key_values", "present")] for name in self.caches}
        return np.asarray(results["logits"][0])


def sentences(count: int, words: int, seed: int = 0) -> list[list[list[int]]]:
    """For each of `count` sessions runs of one to MOST_NEW words, `words` together."""
    generator = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        runs: list[list[int]] = []
        while (left := words - sum(map(len, runs))) > 0:
            new = min(int(generator.integers(1, MOST_NEW + 1)), left)
            runs.append([int(n) for n in generator.integers(0, WORDS, new)])
        found.append(runs)
    return found
