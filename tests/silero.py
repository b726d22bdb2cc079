"""Silero's voice activity detector, from the folder of models beside the repository, and sound for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from compiled import shared_file

Array = np.ndarray[Any, np.dtype[Any]]

RATE, CHUNKS = 16000, 200
SHAPES = {"input": (1, 576), "state": (2, 1, 128)}


def model_path() -> Path:
    """Skips where it is absent."""
    return shared_file("models/silero_vad_16k_op15.onnx")


def chunks(count: int) -> Iterator[Array]:
    """Chunks of 576 samples each: a buzz of 120 Hz whose loudness swells and falls, and noise."""
    noise = np.random.default_rng(0)
    for i in range(count):
        t = (np.arange(576) + 512 * i) / RATE
        buzz = np.sign(np.sin(2 * np.pi * 120 * t)) * np.sin(2 * np.pi * 4 * t) ** 2 * np.sin(i / 10)
        yield (0.3 * buzz + 0.02 * noise.standard_normal(576)).astype(np.float32)[None]
