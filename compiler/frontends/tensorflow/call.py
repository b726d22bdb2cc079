"""One node while it is converted: its operands as values of the ONNX model, and its attributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import onnx
from onnx import helper

from ...errors import UnsupportedError
from ..converted_call import ConvertedCall
from ..images import Images
from ..operators.images import space_to_batch
from .facts import Fact, FactBuilder, Sizes
from .infer import numbers_of
from .read_graph import Function, Node, Ref
from .read_model import Model
from .read_tensor import onnx_type, shape_of
from .values import Array, Batched, Reserved, Value, Variable, Written

_LARGE = 2**20
"""Bytes of a constant of equal elements beyond which the model keeps one of them."""


class Convert(Protocol):
    def __call__(self, scope: Scope, arguments: Sequence[Value]) -> list[Value]: ...


@dataclass(slots=True)
class Scope:
    """A function while it is converted: the values of its nodes' results. `convert` adds the nodes of a scope's
    function and gives its results; `inside` names the functions around it, and its own."""

    model: Model
    function: Function
    builder: FactBuilder
    images: Images
    convert: Convert
    inside: tuple[str, ...] = ()
    values: dict[Ref, Value] = field(default_factory=dict)
    constants: dict[int, tuple[Array, str]] = field(default_factory=dict)
    prefix: str = ""
    in_loop: bool = False

    def inner(self, name: str, builder: FactBuilder | None = None) -> Scope:
        """A scope for a function of this name, which adds its nodes to `builder`, or else to this one's. Raises
        LookupError where there is none, ValueError where it would call itself."""
        if name in self.inside:
            raise ValueError(f"the function {name!r} calls itself")
        whole = replace(self, function=self.model.functions[name], inside=(*self.inside, name), values={})
        return whole if builder is None else replace(whole, builder=builder, images=Images(builder), constants={})

    def materialised(self, value: Value, stem: str) -> str:
        """The ONNX value of a tensor; a constant becomes one of the model."""
        if isinstance(value, str):
            return value
        if not isinstance(value, np.ndarray):
            raise ValueError("a value is used that is not a tensor")
        if id(value) not in self.constants:
            if value.nbytes > _LARGE and not any(value.strides):
                one = self.builder.constant(np.asarray(value.flat[0]), f"{stem}.element")
                own = self.builder.node("Expand", [one, self.builder.integers(value.shape)], stem)
            else:
                own = self.builder.constant(value, stem)
            self.constants[id(value)] = value, own
        return self.constants[id(value)][1]


class Call(ConvertedCall):
    """A node and its operands."""

    def __init__(self, scope: Scope, node: Node, operands: Sequence[Value]) -> None:
        super().__init__(scope.builder, scope.images)
        self.scope, self.graph_node, self.operands = scope, node, list(operands)
        self.facts = scope.builder.facts
        self.batched: Batched | None = None
        """The blocks that the first operand of a convolution was taken apart into."""

    @property
    def op(self) -> str:
        return self.graph_node.op

    @property
    def stem(self) -> str:
        """The beginning of names of nodes."""
        return self.scope.prefix + self.graph_node.name

    def unsupported(self, what: str) -> UnsupportedError:
        return UnsupportedError(f"{self.op} ({self.stem!r}): {what}")

    # Attributes

    def _attribute(self, name: str, kind: str) -> Any:
        found = self.graph_node.attributes.get(name) if name in self.graph_node.attributes else None
        return getattr(found, kind) if found is not None and found.HasField(kind) else None

    def integer(self, name: str, default: int = 0) -> int:
        found = self._attribute(name, "i")
        return default if found is None else int(found)

    def flag(self, name: str, default: bool = False) -> bool:
        found = self._attribute(name, "b")
        return default if found is None else bool(found)

    def real(self, name: str, default: float = 0.0) -> float:
        found = self._attribute(name, "f")
        return default if found is None else float(found)

    def text(self, name: str, default: str = "") -> str:
        found = self._attribute(name, "s")
        return default if found is None else found.decode()

    def texts(self, name: str) -> list[str]:
        found = self._attribute(name, "list")
        return [] if found is None else [s.decode() for s in found.s]

    def numbers(self, name: str) -> list[int]:
        found = self._attribute(name, "list")
        return [] if found is None else [int(n) for n in found.i]

    def shapes(self, name: str) -> list[Sizes | None]:
        found = self._attribute(name, "list")
        return [] if found is None else [shape_of(s) for s in found.shape]

    def shape_given(self, name: str) -> Sizes | None:
        """An attribute that is a shape."""
        found = self._attribute(name, "shape")
        return None if found is None else shape_of(found)

    def type(self, name: str, default: int | None = None) -> int:
        """An element type, as ONNX has it."""
        found = self._attribute(name, "type")
        if found is None and default is not None:
            return default
        try:
            return onnx_type(int(found or 0))
        except UnsupportedError as error:
            raise self.unsupported(str(error)) from None

    def function(self, name: str) -> str:
        found = self._attribute(name, "func")
        if found is None:
            raise self.unsupported(f"it has no function {name!r}")
        return str(found.name)

    # Operands

    def operand(self, i: int) -> Value:
        if not -len(self.operands) <= i < len(self.operands):
            raise self.unsupported(f"operand {i} is missing")
        return self.operands[i]

    def read(self, i: int) -> str:
        """Operand `i` as a value of the ONNX model."""
        value = self.operand(i)
        if isinstance(value, Batched):
            value = self.taken_apart(value)
        if isinstance(value, Variable | Reserved | Written):
            name = value.reserved.name if isinstance(value, Written) else value.name
            raise self.unsupported(f"it is given {name!r}, which is not a tensor")
        name, _ = self.graph_node.inputs[i] if self.graph_node.inputs else ("constant", 0)
        return self.scope.materialised(value, self.scope.prefix + name)

    def taken_apart(self, value: Batched) -> str:
        """The blocks of an image, one after the other along the batch."""
        extents = self.extents(self.facts[value.value].shape)
        zero = self.number_of(0, self.facts[value.value].dtype)
        return space_to_batch(self, value.value, extents, value.block, value.pads, zero)

    def extents(self, shape: Sizes | None) -> list[int]:
        """A shape, of which the first extent may be free, -1. Raises UnsupportedError where others are."""
        if shape is None or None in shape[1:]:
            raise self.unsupported("the shape of its operand must be known: give the model's input one when saving it")
        return [-1 if n is None else n for n in shape]

    def reads(self) -> list[str]:
        return [self.read(i) for i in range(len(self.operands))]

    def fact(self, i: int) -> Fact:
        value = self.operand(i)
        if isinstance(value, np.ndarray):
            kind = helper.np_dtype_to_tensor_dtype(value.dtype)
            return Fact(kind, value.shape, value, numbers_of(value))
        return self.facts.get(value, Fact(0)) if isinstance(value, str) else Fact(0)

    def shape(self, i: int) -> Sizes | None:
        return self.fact(i).shape

    def rank(self, i: int) -> int:
        """Raises UnsupportedError where it is not known."""
        return self.rank_of(self.shape(i), i)

    def rank_of(self, shape: Sizes | None, i: int) -> int:
        if shape is None:
            raise self.unsupported(f"the number of dimensions of operand {i} is not known; save the model with it")
        return len(shape)

    def dtype(self, i: int) -> int:
        return self.fact(i).dtype

    def is_real(self, i: int) -> bool:
        return self.dtype(i) in (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT16)

    def known(self, i: int) -> Array | None:
        """The elements of operand `i`, where they are known: a constant, or integers computed of shapes."""
        fact = self.fact(i)
        if fact.data is not None:
            return fact.data
        if fact.numbers is None or None in fact.numbers or fact.shape is None or None in fact.shape:
            return None
        return np.array(fact.numbers, np.int64).reshape([n or 0 for n in fact.shape])

    def constant(self, i: int, what: str) -> Array:
        found = self.known(i)
        if found is None:
            raise self.unsupported(f"{what} must be constant, and {self.graph_node.inputs[i][0]!r} is computed")
        return found

    def listed(self, i: int, what: str) -> list[int]:
        """A constant operand of integers, as a list."""
        return [int(n) for n in self.constant(i, what).reshape(-1)]

    def length(self, i: int) -> int:
        """The number of elements of operand `i`, a vector."""
        shape = self.shape(i)
        if not shape or shape[0] is None:
            raise self.unsupported(f"the length of operand {i} is not known")
        return shape[0]

    def sizes(self, i: int) -> str:
        """Operand `i`, integers, as the vector that ONNX takes."""
        found = self.known(i)
        if found is not None:
            return self.integers([int(n) for n in found.reshape(-1)])
        wide = self.cast(self.read(i), onnx.TensorProto.INT64)
        return (
            wide
            if self.shape(i) is not None and self.rank(i) == 1
            else self.node("Reshape", [wide, self.integers([-1])])
        )

    def scalar(self, i: int, dtype: int | None = None) -> str:
        """Operand `i` without dimensions."""
        value = self.read(i)
        if dtype is not None:
            value = self.cast(value, dtype)
        return value if self.shape(i) == () else self.node("Reshape", [value, self.integers([])])

    # Results

    def number_like(self, value: float, i: int) -> str:
        """A scalar constant of the type of operand `i`."""
        return self.number_of(value, self.dtype(i))

    def number_of(self, value: float, dtype: int) -> str:
        return self.builder.constant(np.asarray(value, helper.tensor_dtype_to_np_dtype(dtype)), "number")

    def cast(self, value: str, dtype: int) -> str:
        if self.facts.get(value, Fact(0)).dtype == dtype:
            return value
        return self.images.mapped("Cast", [value], self.stem, to=dtype)

    def mapped(self, op: str, values: Sequence[str], more: Sequence[str] = (), **attributes: Any) -> str:
        """An operator on each element of `values`, which have one shape; `more` are scalars."""
        return self.images.mapped(op, values, self.stem, more, **attributes)

    def broadcast(self, op: str, values: Sequence[str], **attributes: Any) -> str:
        """An operator on operands that are broadcast."""
        shapes = [self.facts.get(v, Fact(0)).shape for v in values]
        if attributes or any(s is None for s in shapes):
            return self.node(op, values, **attributes)
        known = [tuple(-1 if n is None else n for n in s) for s in shapes if s is not None]
        constants = [self.facts[v].data is not None for v in values]
        return self.images.broadcast(op, values, known, constants, self.stem)

    @property
    def channels_first(self) -> bool:
        return self.text("data_format", "NHWC").startswith("NC")

    def planar(self, i: int, rank: int) -> str:
        """Operand `i` as N, C, ..., by the node's data_format."""
        return self.read(i) if self.channels_first else self.images.planar(self.read(i), rank)

    def image(self, value: str, rank: int) -> str:
        """A result that is N, C, ..., by the node's data_format."""
        return value if self.channels_first else self.images.interleaved(value, rank, self.stem)

    def spatial(self, numbers: Sequence[int]) -> list[int]:
        """The entries for spatial dimensions of numbers for all dimensions."""
        return list(numbers[2:] if self.channels_first else numbers[1:-1])


Handler = Callable[[Call], Value | Sequence[Value]]
"""Gives the results of a node."""
