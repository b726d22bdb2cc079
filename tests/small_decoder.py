"""A decoder with caches, small and of random weights."""

from __future__ import annotations

import onnx

from benchmarks.decoder_model import DecoderSize, decoder_model

WORDS, HEADS, SIZE, POSITIONS = 37, 2, 8, 96


def small_decoder(seed: int = 0, words: int = WORDS) -> onnx.ModelProto:
    return decoder_model(DecoderSize(layers=2, heads=HEADS, size=SIZE, words=words, positions=POSITIONS), seed)
