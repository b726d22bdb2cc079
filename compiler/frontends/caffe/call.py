"""One layer while it is converted: its operands as values of the ONNX model, its parameters and weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ..images import Images
from ..model_builder import ModelBuilder
from ..ranked_call import RankedCall, Value
from .read_model import Layer


class Call(RankedCall):
    """A layer and its operands."""

    def __init__(self, builder: ModelBuilder, images: Images, layer: Layer, values: Sequence[Value]) -> None:
        super().__init__(builder, images, values)
        self.layer = layer

    @property
    def stem(self) -> str:
        """The beginning of names of nodes."""
        return self.layer.tops[0] if self.layer.tops else self.layer.name

    def unsupported(self, what: str) -> UnsupportedError:
        return UnsupportedError(f"{self.layer.kind} ({self.layer.name!r}): {what}")

    def parameters(self, name: str) -> Any:
        """The message of parameters of this name; with defaults where the file has none."""
        return getattr(self.layer.message, name)

    def weight(self, i: int) -> np.ndarray:
        if i >= len(self.layer.blobs):
            raise self.unsupported(f"it has {len(self.layer.blobs)} blobs of weights, and needs {i + 1} or more")
        return self.layer.blobs[i]

    def constant(self, data: np.ndarray, stem: str = "weights") -> str:
        return self.builder.constant(data, f"{self.layer.name}.{stem}")


Handler = Callable[[Call], Value | Sequence[Value]]
"""Gives the values of a layer's tops: one for all of them, or one each."""
