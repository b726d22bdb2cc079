"""The models of examples/exported: ranges of their sizes, inputs of some sizes, and what onnxruntime makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort

Array = np.ndarray[Any, np.dtype[Any]]

FOLDER = Path(__file__).resolve().parent.parent / "examples" / "exported"
MODELS = tuple(sorted(p.stem for p in FOLDER.glob("*.onnx")))

RANGES = {"batch": (1, 3), "length": (1, 12), "frames": (1, 24), "past": (0, 12)}
LEAST = {name: least for name, (least, _) in RANGES.items()}
MOST = {name: most for name, (_, most) in RANGES.items()}
ODD = {"batch": 3, "length": 7, "frames": 9, "past": 5}
NEXT = {"batch": 2, "length": 1, "frames": 24, "past": 12}
"""Sizes of a decoder that adds one token."""


def path_of(model: str) -> Path:
    return FOLDER / f"{model}.onnx"


def dims(model: str) -> dict[str, tuple[int, int]]:
    """The ranges of the sizes that the model has."""
    return {n: RANGES[n] for i in _session(model).get_inputs() for n in i.shape if isinstance(n, str)}


def feeds(model: str, sizes: Mapping[str, int]) -> dict[str, Array]:
    """Numbers of tokens, masks of which the first counts, and normally distributed floats."""
    generator = np.random.default_rng(sum(sizes.values()))
    made: dict[str, Array] = {}
    for i in _session(model).get_inputs():
        shape = tuple(sizes[n] if isinstance(n, str) else n for n in i.shape)
        if i.name == "mask":
            made[i.name] = (np.arange(shape[1]) < generator.integers(1, shape[1] + 1, (shape[0], 1))).astype(np.int64)
        elif i.type == "tensor(int64)":
            made[i.name] = generator.integers(0, 50, shape)
        else:
            made[i.name] = generator.standard_normal(shape).astype(np.float32)
    return made


def results(model: str, given: Mapping[str, Array]) -> dict[str, Array]:
    names = [o.name for o in _session(model).get_outputs()]
    return dict(zip(names, _session(model).run(names, dict(given)), strict=True))


@cache
def _session(model: str) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3  # exporters declare some sizes of outputs to be those that they traced
    return ort.InferenceSession(str(path_of(model)), options, providers=["CPUExecutionProvider"])
