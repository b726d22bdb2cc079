"""A decoder with caches, small and of random weights, and its reference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
import onnxruntime

from benchmarks.decoder_model import DecoderSize, decoder_model

WORDS, HEADS, SIZE, POSITIONS = 37, 2, 8, 96

Array = np.ndarray


def small_decoder(seed: int = 0, words: int = WORDS) -> onnx.ModelProto:
    return decoder_model(DecoderSize(layers=2, heads=HEADS, size=SIZE, words=words, positions=POSITIONS), seed)


class Reference:
    """onnxruntime, through which the cache is passed."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self._session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        self._names = [o.name for o in self._session.get_outputs()]
        self.position = 0
        self._past = {
            i.name: np.zeros((1, HEADS, 0, SIZE), np.float32)
            for i in self._session.get_inputs()
            if i.name.startswith("past")
        }

    def logits(self, ids: Sequence[int]) -> Array:
        """The logits behind the last of `ids`, float32 [WORDS]."""
        end = self.position + len(ids)
        given = {
            "input_ids": np.array([ids]),
            "position_ids": np.arange(self.position, end)[None],
            "attention_mask": np.ones((1, end), np.int64),
        }
        results = dict(zip(self._names, self._session.run(None, {**given, **self._past}), strict=True))
        self._past = {n: results[n.replace("past_key_values", "present")] for n in self._past}
        self.position = end
        return np.asarray(results["logits"])[0, -1]
