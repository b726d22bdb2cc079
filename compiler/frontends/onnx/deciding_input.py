"""Which inputs of a model decide the condition of an If, or a value that has to be known."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import prod

import onnx
from onnx import numpy_helper

from ...system.escape import shell_word

_PASSED_ON = ("Cast", "Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze")


@dataclass(frozen=True, slots=True)
class Decision:
    """The condition is true where the input is `value` (`equal`), or where it is another; of a value that is not known
    None."""

    input: str
    value: str | None
    equal: bool = True

    def flag(self, *, truth: bool) -> str:
        """The option by which the condition has this truth in every run."""
        known = self.value is not None and truth == self.equal
        return f"--fix {shell_word(self.input)}={self.value if known else 'VALUE'}"


def deciding_input(graph: onnx.GraphProto, condition: str, weights: Collection[str]) -> Decision | None:
    """None where it is not one input alone, compared with a constant or as it is."""
    makers = {output: node for node in graph.node for output in node.output}
    constants = {t.name: t for t in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant":
            constants.update((node.output[0], a.t) for a in node.attribute if a.name == "value")
    inputs = {v.name for v in graph.input if v.name not in weights and v.name not in constants}
    return _decision(condition, makers, constants, inputs)


def flags_for(graph: onnx.GraphProto, value: str, weights: Collection[str]) -> list[str]:
    """The options by which `value` is known: one for each small input that decides it, shapes of others left alone.
    None where the data of a large input does."""
    makers = {output: node for node in graph.node for output in node.output}
    inputs = {v.name: v for v in graph.input if v.name not in weights}
    found: dict[str, str] = {}
    waiting, seen = [value], set[str]()
    while waiting:
        name = waiting.pop()
        node = makers.get(name)
        if name in seen:
            continue
        seen.add(name)
        if name in inputs:
            tensor = inputs[name].type.tensor_type
            elements = prod(d.dim_value or _MOST_FIXED + 1 for d in tensor.shape.dim)
            if elements > _MOST_FIXED:
                return []
            size = tensor.elem_type in (onnx.TensorProto.INT64, onnx.TensorProto.INT32) and elements == 1
            values = ",".join(["VALUE"] * elements)
            found[name] = f"--fix {shell_word(name)}={values}" + (f" or --dim {shell_word(name)}=1..MOST" * size)
        elif node is not None and node.op_type not in ("Shape", "Size"):
            waiting += node.input
    return list(found.values())


_MOST_FIXED = 16
"""Elements of an input that is listed on a command line."""


def _decision(
    name: str,
    makers: Mapping[str, onnx.NodeProto],
    constants: Mapping[str, onnx.TensorProto],
    inputs: Collection[str],
) -> Decision | None:
    seen: set[str] = set()
    equal, value = True, None
    while name not in inputs:
        node = makers.get(name)
        if node is None or name in seen:
            return None
        seen.add(name)
        if node.op_type == "Not":
            equal = not equal
            name = node.input[0]
        elif node.op_type in _PASSED_ON:
            name = node.input[0]
        elif node.op_type in ("Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual") and value is None:
            known = [i for i in node.input if i in constants]
            others = [i for i in node.input if i not in constants]
            if len(known) != 1 or len(others) != 1:
                return None
            array = numpy_helper.to_array(constants[known[0]])
            if node.op_type == "Equal" and array.size == 1:
                value = str(array.item())
            name = others[0]
        else:
            return None
    return Decision(name, value, equal)
