"""The folder of a mutated model: files that its external data may name, and traps that it must not touch."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

SECRET = np.full(256, 777.125, np.float32).tobytes()
"""Elements of files outside of the model's folder, which must not reach what is compiled."""


def prepare_folder(folder: Path, model: bytes) -> Path:
    """Makes `folder` with a folder inside that holds the model; returns the model's path."""
    inner = folder / "model"
    (inner / "folder").mkdir(parents=True)
    (folder / "secret.bin").write_bytes(SECRET * 64)
    (inner / "link.bin").symlink_to(folder / "secret.bin")
    (inner / "link").symlink_to(folder)
    os.mkfifo(inner / "fifo")
    (inner / "short.bin").write_bytes(b"\0\0\x80")
    (inner / "weights.bin").write_bytes(np.linspace(-1, 1, 1 << 14, dtype=np.float32).tobytes())
    path = inner / "model.onnx"
    path.write_bytes(model)
    return path
