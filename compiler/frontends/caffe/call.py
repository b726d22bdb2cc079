"""One layer while it is converted: its operands as values of the ONNX model, its parameters and weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ..converted_call import ConvertedCall
from ..images import Images
from ..model_builder import ModelBuilder
from .read_model import Layer


@dataclass(frozen=True, slots=True)
class Value:
    """A value of the ONNX model."""

    name: str
    rank: int


@dataclass(frozen=True, slots=True)
class Axis:
    """In a shape: the extent of an axis of another value."""

    number: int


class Call(ConvertedCall):
    """A layer and its operands."""

    def __init__(self, builder: ModelBuilder, images: Images, layer: Layer, values: Sequence[Value]) -> None:
        super().__init__(builder, images)
        self.layer, self.values = layer, list(values)

    @property
    def stem(self) -> str:
        """The beginning of names of nodes."""
        return self.layer.tops[0] if self.layer.tops else self.layer.name

    def unsupported(self, what: str) -> UnsupportedError:
        return UnsupportedError(f"{self.layer.kind} ({self.layer.name!r}): {what}")

    @property
    def x(self) -> Value:
        return self.value(0)

    def value(self, i: int) -> Value:
        if i >= len(self.values):
            raise self.unsupported(f"it has {len(self.values)} operands, and needs {i + 1} or more")
        return self.values[i]

    def parameters(self, name: str) -> Any:
        """The message of parameters of this name; with defaults where the file has none."""
        return getattr(self.layer.message, name)

    def weight(self, i: int) -> np.ndarray:
        if i >= len(self.layer.blobs):
            raise self.unsupported(f"it has {len(self.layer.blobs)} blobs of weights, and needs {i + 1} or more")
        return self.layer.blobs[i]

    def constant(self, data: np.ndarray, stem: str = "weights") -> str:
        return self.builder.constant(data, f"{self.layer.name}.{stem}")

    def axis(self, number: int, rank: int) -> int:
        """An axis of a value of `rank`, which may be counted from the end."""
        if not -rank <= number < rank:
            raise self.unsupported(f"the axis {number} of a value of {rank} dimensions")
        return number % rank

    def apply(self, op: str, *operands: Value | str | float, rank: int | None = None, **attributes: Any) -> Value:
        """The result of an ONNX node, of the rank of the first operand unless it is given."""
        first = next(v for v in operands if isinstance(v, Value))
        name = self.node(op, [self._named(v) for v in operands], **attributes)
        return Value(name, first.rank if rank is None else rank)

    def _named(self, v: Value | str | float) -> str:
        return v.name if isinstance(v, Value) else v if isinstance(v, str) else self.number(v)

    def scaled(self, x: Value, scale: float, shift: float) -> Value:
        x = x if scale == 1 else self.apply("Mul", x, scale)
        return x if shift == 0 else self.apply("Add", x, shift)

    def sizes(self, x: Value, first: int, last: int) -> str:
        """A vector of the extents of `x` from an axis up to, and without, another one."""
        return self.node("Shape", [x.name], start=first, end=last)

    def reshaped(self, x: Value, shape: Sequence[int | Axis]) -> Value:
        """`x` in a shape of extents, of which one may be -1, a 0 is that of the same place, and Axis an extent of `x`
        before."""
        if all(isinstance(d, int) for d in shape):
            target = self.integers([d for d in shape if isinstance(d, int)])
        else:
            parts = [self.integers([d]) if isinstance(d, int) else self._extent(x, d) for d in shape]
            target = self.node("Concat", parts, axis=0)
        return self.apply("Reshape", x, target, rank=len(shape))

    def _extent(self, x: Value, axis: Axis) -> str:
        return self.sizes(x, axis.number, axis.number + 1)


Handler = Callable[[Call], Value | Sequence[Value]]
"""Gives the values of a layer's tops: one for all of them, or one each."""
