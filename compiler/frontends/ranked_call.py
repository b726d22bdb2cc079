"""An operator or a layer whose values are of ranks that are known while it is converted; their extents may be free."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import UnsupportedError
from .converted_call import ConvertedCall
from .images import Images
from .model_builder import ModelBuilder


@dataclass(frozen=True, slots=True)
class Value:
    """A value of the ONNX model."""

    name: str
    rank: int


@dataclass(frozen=True, slots=True)
class Axis:
    """In a shape: the extent of an axis of another value."""

    number: int


class RankedCall(ConvertedCall):
    """Adds ONNX nodes on `values`, its operands, and on what they give."""

    def __init__(self, builder: ModelBuilder, images: Images, values: Sequence[Value]) -> None:
        super().__init__(builder, images)
        self.values = list(values)

    @abstractmethod
    def unsupported(self, what: str) -> UnsupportedError: ...

    @property
    def x(self) -> Value:
        return self.value(0)

    def value(self, i: int) -> Value:
        if i >= len(self.values):
            raise self.unsupported(f"it has {len(self.values)} operands, and needs {i + 1} or more")
        return self.values[i]

    def axis(self, number: int, rank: int) -> int:
        """An axis of a value of `rank`, which may be counted from the end."""
        if not -rank <= number < rank:
            raise self.unsupported(f"the axis {number} of a value of {rank} dimensions")
        return number % rank

    def apply(self, op: str, *operands: Value | str | float, rank: int | None = None, **attributes: Any) -> Value:
        """The result of an ONNX node, of the largest rank of its operands unless it is given."""
        name = self.node(op, [self._named(v) for v in operands], **attributes)
        ranks = [v.rank for v in operands if isinstance(v, Value)]
        return Value(name, max(ranks) if rank is None else rank)

    def _named(self, v: Value | str | float) -> str:
        return v.name if isinstance(v, Value) else v if isinstance(v, str) else self.number(v)

    def scaled(self, x: Value, scale: float, shift: float) -> Value:
        x = x if scale == 1 else self.apply("Mul", x, scale)
        return x if shift == 0 else self.apply("Add", x, shift)

    def sizes(self, x: Value, first: int, last: int) -> str:
        """A vector of the extents of `x` from an axis up to, and without, another one."""
        return self.node("Shape", [x.name], start=first, end=last)

    def reshaped(self, x: Value, shape: Sequence[int | Axis | str]) -> Value:
        """`x` in a shape of extents, of which one may be -1, a 0 is that of the same place, Axis an extent of `x`
        before, and a name a vector of one number."""
        if all(isinstance(d, int) for d in shape):
            target = self.integers([d for d in shape if isinstance(d, int)])
        else:
            target = self.node("Concat", [self._extent(x, d) for d in shape], axis=0)
        return self.apply("Reshape", x, target, rank=len(shape))

    def _extent(self, x: Value, extent: int | Axis | str) -> str:
        if isinstance(extent, Axis):
            return self.sizes(x, extent.number, extent.number + 1)
        return self.integers([extent]) if isinstance(extent, int) else extent

    def resized(self, x: Value, sizes: str, **attributes: Any) -> Value:
        """N, C, ... with other spatial extents, a vector."""
        whole = self.node("Concat", [self.sizes(x, 0, 2), sizes], axis=0)
        return self.apply("Resize", x, "", "", whole, **attributes)
