"""An operator or a layer of another format while it is converted: what their kinds share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from .images import Images
from .model_builder import ModelBuilder


class ConvertedCall(ABC):
    """Adds ONNX nodes whose names begin with `stem`."""

    def __init__(self, builder: ModelBuilder, images: Images) -> None:
        self.builder, self.images = builder, images

    @property
    @abstractmethod
    def stem(self) -> str: ...

    def node(self, op: str, inputs: Sequence[str], **attributes: Any) -> str:
        """The only result of an ONNX node."""
        return self.builder.node(op, inputs, self.stem, **attributes)

    def nodes(self, op: str, inputs: Sequence[str], count: int, **attributes: Any) -> list[str]:
        """The results of an ONNX node that has several."""
        names = [self.builder.name(self.stem) for _ in range(count)]
        self.builder.node(op, inputs, self.stem, outputs=names, **attributes)
        return names

    def integers(self, values: int | Sequence[int]) -> str:
        return self.builder.integers(values)

    def number(self, value: float, dtype: str = "float32") -> str:
        return self.builder.constant(np.asarray(value, dtype), "number")
