"""One operation of an ML program while it is converted: its arguments as values of the ONNX model, and its results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ..converted_call import ConvertedCall
from ..images import Images
from ..model_builder import ModelBuilder
from ..unsupported import Unsupported
from .read_model import Model
from .read_value import Value, read_value, type_of
from .types import onnx_type, real_type

_SMALL = 16
"""Elements of float16 constants that are stored as float32: bounds and factors, which other nodes read as constants."""


@dataclass(slots=True)
class Scope:
    """A block while it is converted: its values, and those around it. Constants are added to `root`, the builder of the
    whole model; `problems` collects what is not supported; `convert` adds the operations of a block."""

    model: Model
    builder: ModelBuilder
    root: ModelBuilder
    problems: Unsupported
    convert: Callable[[Scope, Any], None]
    values: dict[str, Value] = field(default_factory=dict)

    def add(self, value: Value) -> str:
        """The ONNX value, of type `real_type`, of a value that may be a constant."""
        if value.name:
            return value.name
        if not isinstance(value.data, np.ndarray):
            raise UnsupportedError("a list or text is used as a tensor")
        data = value.data
        if value.dtype == "float16" and data.size <= _SMALL:
            data = data.astype(np.float32)
        value.name = self.root.constant(data, "constant")
        if data.dtype == np.float16:
            value.name = self.root.node("Cast", [value.name], f"{value.name}.wide", to=onnx_type("float32"))
        return value.name


class Call(ConvertedCall):
    """An operation. Arguments are read as ONNX values (`read`), or as constants."""

    def __init__(self, scope: Scope, operation: Any) -> None:
        super().__init__(scope.builder, Images(scope.builder))
        self.scope, self.operation = scope, operation

    @property
    def kind(self) -> str:
        return str(self.operation.type)

    @property
    def stem(self) -> str:
        """The beginning of names of nodes: the first result's."""
        return str(self.operation.outputs[0].name) if self.operation.outputs else self.kind

    def unsupported(self, what: str) -> UnsupportedError:
        return UnsupportedError(f"{self.kind} ({self.stem!r}): {what}")

    def values(self, name: str) -> list[Value]:
        """All values of an argument; none where it is absent."""
        if name in self.operation.inputs:
            return [self._bound(b) for b in self.operation.inputs[name].arguments]
        if name in self.operation.attributes:
            return [read_value(self.scope.model, self.operation.attributes[name])]
        return []

    def _bound(self, binding: Any) -> Value:
        if binding.HasField("value"):
            return read_value(self.scope.model, binding.value)
        if binding.name not in self.scope.values:
            raise self.unsupported(f"nothing computes its operand {binding.name!r}")
        return self.scope.values[binding.name]

    def has(self, name: str) -> bool:
        return name in self.operation.inputs or name in self.operation.attributes

    def value(self, name: str) -> Value:
        values = self.values(name)
        if not values:
            raise self.unsupported(f"its argument {name!r} is missing")
        return values[0]

    def read(self, name: str, dtype: str | None = None) -> str:
        """The ONNX value of an argument, cast to `dtype` if it is of another type."""
        return self.add(self.value(name), dtype)

    def add(self, value: Value, dtype: str | None = None) -> str:
        own = self.scope.add(value)
        return own if dtype is None or real_type(value.dtype) == dtype else self.cast(own, dtype)

    def is_constant(self, name: str) -> bool:
        return self.has(name) and self.value(name).data is not None

    def constant(self, name: str, default: Any = None) -> Any:
        """The elements of a constant argument, or `default` where it is absent."""
        if not self.has(name) and default is not None:
            return default
        data = self.value(name).data
        if data is None:
            raise self.unsupported(f"{name!r} must be constant, and it is computed")
        return data

    def ints(self, name: str, default: Sequence[int] | None = None) -> list[int]:
        return [int(n) for n in np.reshape(self.constant(name, default), -1)]

    def integer(self, name: str, default: int | None = None) -> int:
        return self.ints(name, None if default is None else [default])[0]

    def real(self, name: str, default: float | None = None) -> float:
        return float(np.reshape(self.constant(name, default), -1)[0])

    def flag(self, name: str, default: bool = False) -> bool:
        return bool(np.reshape(self.constant(name, np.asarray(default)), -1)[0])

    def text(self, name: str, default: str) -> str:
        return str(self.constant(name, default))

    def shape(self, name: str = "x") -> tuple[int | None, ...]:
        return self.value(name).shape

    def rank(self, name: str = "x") -> int:
        return len(self.shape(name))

    def result(self, i: int = 0) -> Value:
        """The type of a result."""
        return type_of(self.operation.outputs[i].type)

    def cast(self, value: str, dtype: str) -> str:
        return self.node("Cast", [value], to=onnx_type(dtype))

    def as_result(self, value: str, i: int = 0) -> str:
        """A value of another type as that of a result."""
        return self.cast(value, real_type(self.result(i).dtype))

    def sizes(self, shape: Sequence[int | None]) -> list[int]:
        """A shape for Reshape: at most one dimension may be free."""
        if sum(n is None for n in shape) > 1:
            raise self.unsupported("more than one dimension of its result is free; convert the model with fixed shapes")
        return [-1 if n is None else n for n in shape]

    def reshaped(self, value: str, shape: Sequence[int | None]) -> str:
        return self.node("Reshape", [value, self.integers(self.sizes(shape))])


Handler = Callable[[Call], "str | Value | Sequence[str]"]
"""Gives the results of an operation as ONNX values of the types that it declares, or a constant."""
