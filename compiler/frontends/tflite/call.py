"""One operator while it is converted: its operands as values of the ONNX model, and its results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ..converted_call import ConvertedCall
from ..images import Images
from ..model_builder import ModelBuilder
from .read_model import Model, Operator, Quantization, Subgraph, Tensor
from .types import INTEGERS, onnx_type, stored_type


@dataclass(slots=True)
class Scope:
    """A subgraph while it is converted: the ONNX value of each of its tensors, and those dequantised. `convert` adds
    the operators of a scope; `inside` are the numbers of the subgraphs around it, and its own. `kept` has by name the
    outputs that the next run finds as inputs."""

    model: Model
    subgraph: Subgraph
    builder: ModelBuilder
    images: Images
    convert: Callable[[Scope], None]
    inside: tuple[int, ...]
    values: dict[int, str] = field(default_factory=dict)
    real: dict[str, str] = field(default_factory=dict)
    kept: dict[str, str] = field(default_factory=dict)


class Call(ConvertedCall):
    """An operator. Operands are read as real numbers (`read`), dequantised where they are quantised, or as they are
    (`raw`)."""

    def __init__(self, scope: Scope, operator: Operator) -> None:
        super().__init__(scope.builder, scope.images)
        self.scope, self.operator = scope, operator

    @property
    def options(self) -> Any:
        """Fields by accessor. UnsupportedError where the file has none."""
        if self.operator.options is None:
            raise self.unsupported("it has no options")
        return self.operator.options

    @property
    def stem(self) -> str:
        """The beginning of names of nodes: the first result's."""
        return self.result().name if self.operator.outputs else self.operator.kind

    def unsupported(self, what: str) -> UnsupportedError:
        return UnsupportedError(f"{self.operator.kind} ({self.stem!r}): {what}")

    @property
    def operands(self) -> range:
        return range(len(self.operator.inputs))

    def has(self, i: int) -> bool:
        """Whether operand `i` is there."""
        return i < len(self.operator.inputs) and self.operator.inputs[i] >= 0

    def tensor(self, i: int) -> Tensor:
        """Operand `i`."""
        if not self.has(i):
            raise self.unsupported(f"operand {i} is missing")
        return self.scope.subgraph.tensors[self.operator.inputs[i]]

    def result(self, i: int = 0) -> Tensor:
        if i >= len(self.operator.outputs):
            raise UnsupportedError(f"{self.operator.kind}: result {i} is missing")
        return self.scope.subgraph.tensors[self.operator.outputs[i]]

    def shape(self, i: int) -> tuple[int, ...]:
        return self.tensor(i).shape

    def constant(self, i: int, what: str) -> np.ndarray:
        """The elements of operand `i`, as they are in the file."""
        data = self.tensor(i).data
        if data is None:
            raise self.unsupported(f"{what} must be constant, and {self.tensor(i).name!r} is computed")
        return data

    def raw(self, i: int) -> str:
        """Operand `i` as it is."""
        value = self.scope.values.get(self.operator.inputs[i]) if self.has(i) else None
        if value is None:
            raise self.unsupported(f"nothing computes its operand {self.tensor(i).name!r}")
        return value

    def read(self, i: int) -> str:
        """Operand `i` in real numbers."""
        value, tensor = self.raw(i), self.tensor(i)
        if value not in self.scope.real:
            self.scope.real[value] = self.dequantised(value, tensor)
        return self.scope.real[value]

    def dequantised(self, value: str, tensor: Tensor, axis: int | None = None) -> str:
        """The real numbers that `value`, of `tensor`, stands for; `axis` is that of its scales, where its dimensions
        are in another order."""
        q = tensor.quantization
        if tensor.dtype in ("float16", "bfloat16"):
            return self.images.mapped("Cast", [value], f"{tensor.name}.real", to=onnx_type("float32"))
        if q is None or tensor.dtype not in INTEGERS:
            return value
        if tensor.dtype == "int64":
            return self._dequantised_int64(value, tensor, q)
        along = {"axis": q.axis if axis is None else axis} if len(q.scale) > 1 else {}
        return self.images.mapped("DequantizeLinear", [value], f"{tensor.name}.real", self.quanta(q, tensor), **along)

    def _dequantised_int64(self, value: str, tensor: Tensor, q: Quantization) -> str:
        """Biases of layers with activations of int16, which DequantizeLinear does not take."""
        shape = [len(q.scale) if d == q.axis else 1 for d in range(len(tensor.shape))]
        scale, zero = (np.reshape(v, shape if len(q.scale) > 1 else []) for v in (q.scale, q.zero_point))
        centred = self.node("Sub", [value, self.builder.constant(zero, "zero_point")])
        real = self.node("Cast", [centred], to=onnx_type("float32"))
        return self.node("Mul", [real, self.builder.constant(scale, "scale")])

    def quanta(self, q: Quantization, tensor: Tensor) -> tuple[str, str]:
        """The scale and the zero point as constants."""
        index = 0 if len(q.scale) == 1 else slice(None)
        zero = np.asarray(q.zero_point[index], "int8" if tensor.dtype == "int4" else tensor.dtype)
        return (
            self.builder.constant(np.asarray(q.scale[index]), "scale"),
            self.builder.constant(zero, "zero_point", stored_type(tensor)),
        )

    def write(self, value: str, i: int = 0) -> None:
        """Result `i` is `value`, in real numbers."""
        tensor = self.result(i)
        q = tensor.quantization
        if q is not None and tensor.dtype in INTEGERS and tensor.dtype != "int64":
            value = self.images.mapped("QuantizeLinear", [value], tensor.name, self.quanta(q, tensor))
        self.store(value, i)

    def store(self, value: str, i: int = 0) -> None:
        """Result `i` is `value`, as it is."""
        self.scope.values[self.operator.outputs[i]] = value

    def kept(self, i: int, update: Callable[[str], str]) -> str:
        """Operand `i`, a variable that is zero before the first run, after its `update`, in real numbers. An input and
        an output of the model stand for it, whose names are those of states."""
        tensor = self.tensor(i)
        if not tensor.is_variable or len(self.scope.inside) > 1:
            raise self.unsupported(f"its state {tensor.name!r} is no variable of the main graph")
        before = self.builder.input(f"past.{tensor.name}", onnx_type("float32"), tensor.shape)
        after = update(before)
        self.scope.kept[f"present.{before.removeprefix('past.')}"] = after
        return after

    def mapped(self, op: str, values: Sequence[str], more: Sequence[str] = (), **attributes: Any) -> str:
        """An operator on each element of `values`, which have one shape; `more` are scalars."""
        return self.images.mapped(op, values, self.stem, more, **attributes)

    def cast(self, value: str, dtype: str) -> str:
        return self.mapped("Cast", [value], to=onnx_type(dtype))

    def planar(self, i: int) -> str:
        """Operand `i` in real numbers, as N, C, ..."""
        return self.images.planar(self.read(i), len(self.shape(i)))

    def interleaved(self, value: str) -> str:
        """N, ..., C of a value that is N, C, ... and of the first result's rank."""
        return self.images.interleaved(value, len(self.result().shape), self.stem)

    def activated(self, value: str, function: int) -> str:
        """The activation function that an operator has fused (`ActivationFunctionType`)."""
        match function:
            case 0:
                return value
            case 1:
                return self.mapped("Relu", [value])
            case 2:
                return self.mapped("Clip", [value], (self.number(-1.0), self.number(1.0)))
            case 3:
                return self.mapped("Clip", [value], (self.number(0.0), self.number(6.0)))
            case 4:
                return self.mapped("Tanh", [value])
            case 5:
                return self.mapped("Sign", [value])
        raise self.unsupported(f"the activation function {function}")


Handler = Callable[[Call], None]
