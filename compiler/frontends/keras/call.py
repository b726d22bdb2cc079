"""One call of a layer while it is converted: its operands as values of the ONNX model, its options and weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnx

from ...errors import InputError, UnsupportedError
from ..converted_call import ConvertedCall
from ..images import Images
from ..model_builder import ModelBuilder
from .read_config import Layer
from .read_model import Dialect

UNKNOWN_MASK = ""
"""The mask of a value that has one, which is not computed."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value of the ONNX model. `mask` is the value, batch x steps, that says which steps of it count; None where all
    do."""

    name: str
    rank: int
    dtype: str = "float32"
    mask: str | None = None


@dataclass(slots=True)
class Scope:
    """A network while it is converted. `apply` adds a call; None where it needs what is not supported. `prefix` stands
    before the names of layers."""

    builder: ModelBuilder
    images: Images
    dialect: Dialect
    apply: Callable[[Call], list[Value] | None]
    prefix: str = ""


class Call(ConvertedCall):
    """A layer and its operands: `args` and `keywords` as they are in the file, with values in place of tensors."""

    def __init__(self, scope: Scope, layer: Layer, args: Sequence[Any], keywords: dict[str, Any]) -> None:
        """A mask that is given by name is that of the first operand; a list has those of the first operands."""
        super().__init__(scope.builder, scope.images)
        self.scope, self.layer, self.weights = scope, layer, layer.weights
        self.args, self.keywords = list(args), {name: v for name, v in keywords.items() if name != "mask"}
        given = keywords.get("mask")
        self.is_given_mask = given is not None
        if self.is_given_mask:
            self.args[0] = _with_masks(self.args[0], given)

    @property
    def stem(self) -> str:
        """The beginning of names of nodes."""
        return self.scope.prefix + self.layer.name

    def inner(self, layer: Layer, *args: Any) -> Call:
        """A call of a layer inside of this one."""
        return Call(replace(self.scope, prefix=f"{self.stem}/"), layer, args, {})

    def apply(self, layer: Layer, *args: Any) -> list[Value] | None:
        """The results of a layer inside of this one; None where it needs what is not supported."""
        return self.scope.apply(self.inner(layer, *args))

    def unsupported(self, what: str) -> UnsupportedError:
        return UnsupportedError(f"{self.layer.kind} ({self.stem!r}): {what}")

    @property
    def values(self) -> list[Value]:
        """All operands that are tensors, in order."""
        return values_of([*self.args, self.keywords])

    @property
    def x(self) -> Value:
        """The first operand, in real numbers."""
        values = self.values
        if not values:
            raise self.unsupported("it is called on nothing")
        return self.real(values[0])

    def real(self, value: Value) -> Value:
        if value.dtype == "float32":
            return value
        name = self.images.mapped("Cast", [value.name], f"{self.stem}.real", to=onnx.TensorProto.FLOAT)
        return replace(value, name=name, dtype="float32")

    def known_mask(self, value: Value) -> str:
        """The mask of a value that has one. Raises UnsupportedError where it is not computed."""
        if not value.mask:
            raise self.unsupported("its mask is not supported; save a model without it, and give whole sequences")
        return value.mask

    def option(self, name: str, default: Any = None) -> Any:
        """An argument of the constructor; the default where the file has none."""
        found = self.layer.config.get(name)
        return default if found is None else found

    def numbers(self, name: str, count: int, default: int = 1) -> list[int]:
        """An option that is one integer for each of `count` dimensions, or one for all of them."""
        found = self.option(name, default)
        listed = [int(n) for n in found] if isinstance(found, list | tuple) else [int(found)] * count
        if len(listed) != count:
            raise self.unsupported(f"{name} is {found!r}, for {count} dimensions")
        return listed

    @property
    def channels_first(self) -> bool:
        return bool(self.option("data_format", "channels_last") == "channels_first")

    def weight(self, i: int) -> np.ndarray:
        """Raises InputError where the file lacks it."""
        if i >= len(self.weights):
            raise InputError(
                f"{self.layer.kind} ({self.stem!r}) has {len(self.weights)} weights in the file, and needs {i + 1} or "
                "more; save the model again, with model.save"
            )
        return self.weights[i]

    def constant(self, data: np.ndarray, stem: str = "weight") -> str:
        return self.builder.constant(data, f"{self.stem}.{stem}")

    def mapped(self, op: str, values: Sequence[Value], more: Sequence[str] = (), **attributes: Any) -> Value:
        """An operator on each element of values of one rank; `more` are scalars."""
        name = self.images.mapped(op, [v.name for v in values], self.stem, more, **attributes)
        return Value(name, values[0].rank)

    def with_constant(self, op: str, x: Value, data: np.ndarray) -> Value:
        """An operator on `x` and a constant, which is broadcast to the dimensions of `x` behind the batch."""
        whole = np.asarray(data, np.float32)
        whole = whole.reshape((1,) * (x.rank - 1 - whole.ndim) + whole.shape)
        if x.name not in self.images:
            return Value(self.node(op, [x.name, self.constant(whole)]), x.rank)
        planar = self.constant(np.moveaxis(whole, -1, 0))
        return self.interleaved(self.node(op, [self.images.planar(x.name, x.rank), planar]), x.rank)

    def planar(self, x: Value) -> str:
        """`x` as N, C, ..., by the layer's data_format."""
        return x.name if self.channels_first else self.images.planar(x.name, x.rank)

    def interleaved(self, name: str, rank: int) -> Value:
        """A value that is N, C, ..., as N, ..., C."""
        return Value(self.images.interleaved(name, rank, self.stem), rank)

    def image(self, name: str, rank: int) -> Value:
        """A result that is N, C, ..., by the layer's data_format."""
        return Value(name, rank) if self.channels_first else self.interleaved(name, rank)


def _with_masks(tree: Any, masks: Any) -> Any:
    if isinstance(tree, list | tuple) and isinstance(masks, list | tuple):
        return [_with_masks(t, m) for t, m in zip(tree, masks, strict=True)]
    both = isinstance(tree, Value) and isinstance(masks, Value)
    return replace(tree, mask=masks.name) if both else tree


def values_of(tree: Any) -> list[Value]:
    """The values in a tree of lists and mappings, in order."""
    if isinstance(tree, Value):
        return [tree]
    if isinstance(tree, dict):
        tree = list(tree.values())
    return [v for t in tree for v in values_of(t)] if isinstance(tree, list | tuple) else []


Handler = Callable[[Call], Value | Sequence[Value] | None]
"""Gives the results of a layer; None where a layer inside of it needs what is not supported."""
