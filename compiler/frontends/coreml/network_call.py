"""One layer of a neural network while it is converted: its operands as values of the ONNX model, and its parameters.

In networks whose arrays have five dimensions (sequence, batch, channel, height, width), values are 4-dimensional here:
sequence x channels x height x width, of a batch of one. All elements are float32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx

from ...errors import UnsupportedError
from ..converted_call import ConvertedCall
from ..images import Images
from ..model_builder import ModelBuilder
from ..unsupported import Unsupported
from .read_weights import read_weights


@dataclass(frozen=True, slots=True)
class Array:
    """A value, float32, of so many dimensions."""

    name: str
    rank: int


@dataclass(slots=True)
class NetworkScope:
    """A network while it is converted, in a model of this `name`. `is_of_five`: its arrays have five dimensions, four
    here. `problems` collects what is not supported; `convert` adds the layers of a network."""

    name: str
    builder: ModelBuilder
    is_of_five: bool
    problems: Unsupported
    convert: Callable[[NetworkScope, Any], None]
    values: dict[str, Array] = field(default_factory=dict)


class Layer(ConvertedCall):
    """A layer of a `kind` with its parameters."""

    def __init__(self, scope: NetworkScope, layer: Any, kind: str) -> None:
        super().__init__(scope.builder, Images(scope.builder))
        self.scope, self.layer, self.kind = scope, layer, kind
        self.params = getattr(layer, kind)

    @property
    def stem(self) -> str:
        """The beginning of names of nodes: the first result's."""
        return str(self.layer.output[0]) if self.layer.output else str(self.layer.name)

    def unsupported(self, what: str) -> UnsupportedError:
        return UnsupportedError(f"{self.kind} ({self.layer.name!r}): {what}")

    @property
    def operands(self) -> list[Array]:
        missing = [name for name in self.layer.input if name not in self.scope.values]
        if missing:
            raise self.unsupported(f"nothing computes its operand {missing[0]!r}")
        return [self.scope.values[name] for name in self.layer.input]

    @property
    def x(self) -> Array:
        """The first operand."""
        operands = self.operands
        if not operands:
            raise self.unsupported("it has no operand")
        return operands[0]

    def weights(self, weights: Any, *shape: int) -> str:
        """Weights as a float32 value; those of float16 stay so in the file."""
        return self.stored(read_weights(weights, shape))

    def stored(self, data: np.ndarray) -> str:
        own = self.builder.constant(data, f"{self.layer.name}.weights")
        return own if data.dtype != np.float16 else self.node("Cast", [own], to=onnx.TensorProto.FLOAT)

    def cast(self, value: str, dtype: int = onnx.TensorProto.FLOAT) -> str:
        return self.node("Cast", [value], to=dtype)

    def places(self, array: Array) -> str:
        """Whole numbers, of which tensors of a network have the values as float32."""
        return self.cast(array.name, onnx.TensorProto.INT64)

    def reshaped(self, value: str, shape: Sequence[int]) -> str:
        return self.node("Reshape", [value, self.integers(list(shape))])

    def per_image(self, array: Array, compute: Callable[[str], str]) -> Array:
        """`compute` of a value of N x C x H x W; more dimensions in front are part of N, and fewer are added."""
        x, rank = array.name, array.rank
        if rank == 4:
            return Array(compute(x), rank)
        if rank < 3:
            raise self.unsupported(f"its operand has {rank} dimensions, and needs 3 or more")
        if rank == 3:
            whole = compute(self.node("Unsqueeze", [x, self.integers([0])]))
            return Array(self.node("Squeeze", [whole, self.integers([0])]), rank)
        ends = self.node("Shape", [x], start=rank - 3)
        whole = self.node("Reshape", [x, self.node("Concat", [self.integers([-1]), ends], axis=0)])
        result = compute(whole)
        shape = [self.node("Shape", [x], end=rank - 3), self.node("Shape", [result], start=1)]
        return Array(self.node("Reshape", [result, self.node("Concat", shape, axis=0)]), rank)


LayerHandler = Callable[[Layer], "Array | Sequence[Array]"]
"""Gives the results of a layer."""


def mapped(op: str, **attributes: Any) -> LayerHandler:
    """An operator on each element."""

    def convert(layer: Layer) -> Array:
        return Array(layer.node(op, [layer.x.name], **attributes), layer.x.rank)

    return convert
