"""Which inputs of a model decide the condition of an If, or a value that has to be known."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import numpy as np
import onnx
from onnx import numpy_helper

from ...text.escape import shell_word

_PASSED_ON = ("Cast", "Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze")

_COMPARISONS: Mapping[str, Callable[..., object]] = {
    "Equal": np.equal,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
}

_MOST_FIXED = 16
"""Elements of an input that is listed on a command line."""

_SOME = "VALUE"
"""In place of one that the user has to choose."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A condition that one input alone decides, and an input that makes it true or false."""

    input: str
    when_true: str = _SOME
    when_false: str = _SOME

    def flag(self, *, truth: bool) -> str:
        """The option by which the condition has this truth in every run."""
        return f"--fix {shell_word(self.input)}={self.when_true if truth else self.when_false}"

    def negated(self) -> Decision:
        return replace(self, when_true=self.when_false, when_false=self.when_true)


class DecidingInputs:
    """The deciding inputs of all values of a graph, whose nodes are in topological order; computed when first
    needed."""

    def __init__(self, graph: onnx.GraphProto, weights: Collection[str]) -> None:
        self._graph = graph
        self._inputs = {v.name: v.type.tensor_type for v in graph.input if v.name not in weights}

    def decision(self, condition: str) -> Decision | None:
        """None where it is not one input alone, compared with a constant or as it is."""
        decision = self._decisions.get(condition)
        return Decision(decision) if isinstance(decision, str) else decision

    def flags(self, value: str) -> list[str]:
        """The options by which `value` is known: one for each small input that decides it, shapes of others left alone.
        Empty where the data of a large input does."""
        deciding = self._small.get(value) or frozenset()
        return [_flag(name, tensor) for name, tensor in self._inputs.items() if name in deciding]

    def is_of_sizes(self, value: str) -> bool:
        """Whether shapes alone decide `value`, and no element of an input."""
        return self._small.get(value) == frozenset()

    @cached_property
    def _decisions(self) -> Mapping[str, Decision | str]:
        """Decisions by value; for a number that is an input itself, perhaps of another type, the input's name."""
        decisions: dict[str, Decision | str] = {
            name: Decision(name, "1", "0") if tensor.elem_type == onnx.TensorProto.BOOL else name
            for name, tensor in self._inputs.items()
        }
        constants = {t.name: t for t in self._graph.initializer}
        for node in self._graph.node:
            if node.op_type == "Constant":
                constants.update((node.output[0], a.t) for a in node.attribute if a.name == "value")
            result = _result(node, decisions, constants)
            if result is not None:
                decisions[node.output[0]] = result
        return decisions

    @cached_property
    def _small(self) -> Mapping[str, frozenset[str] | None]:
        """The small inputs that decide a value; None where a large one does."""
        small: dict[str, frozenset[str] | None] = {
            name: frozenset((name,)) if _elements(tensor) <= _MOST_FIXED else None
            for name, tensor in self._inputs.items()
        }
        for node in self._graph.node:
            if node.op_type not in ("Shape", "Size"):
                sets = [small[name] for name in node.input if name in small]
                small_sets = [s for s in sets if s is not None]
                union = frozenset[str]().union(*small_sets) if len(small_sets) == len(sets) else None
                small.update((name, union) for name in node.output if name)
        return small


def _result(
    node: onnx.NodeProto, decisions: Mapping[str, Decision | str], constants: Mapping[str, onnx.TensorProto]
) -> Decision | str | None:
    """The decision of a node's output, by those of its inputs."""
    operands = [decisions.get(name) for name in node.input]
    if node.op_type == "Not" and isinstance(operands[0], Decision):
        return operands[0].negated()
    if node.op_type in _PASSED_ON:
        to_bool = any(a.name == "to" and a.i == onnx.TensorProto.BOOL for a in node.attribute)
        return Decision(operands[0], when_false="0") if to_bool and isinstance(operands[0], str) else operands[0]
    decided = next((d for d in operands if d is not None), None)
    values = [constants.get(name) for name, d in zip(node.input, operands, strict=True) if d is None]
    if node.op_type not in _COMPARISONS or decided is None or len(values) != 1:
        return None
    (constant,) = values
    if constant is None or prod(constant.dims) != 1:
        return None
    value = numpy_helper.to_array(constant).item()
    if isinstance(decided, str):
        return Decision(decided, str(value)) if node.op_type == "Equal" else Decision(decided)
    compare = _COMPARISONS[node.op_type]
    of_false, of_true = (compare(*(value if d is None else truth for d in operands)) for truth in (0, 1))
    if of_false == of_true:
        return None
    return decided if of_true else decided.negated()


def _flag(name: str, tensor: onnx.TypeProto.Tensor) -> str:
    elements = _elements(tensor)
    size = tensor.elem_type in (onnx.TensorProto.INT64, onnx.TensorProto.INT32) and elements == 1
    values = ",".join([_SOME] * elements)
    return f"--fix {shell_word(name)}={values}" + (f" or --dim {shell_word(name)}=1..MOST" * size)


def _elements(tensor: onnx.TypeProto.Tensor) -> int:
    """The number of an input's elements; more than are listed where a dimension has no number."""
    return prod(d.dim_value or _MOST_FIXED + 1 for d in tensor.shape.dim)
