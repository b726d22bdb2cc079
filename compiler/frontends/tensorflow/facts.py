"""A builder of ONNX models with facts of their values: element types, shapes as far as they are known, and small
vectors of integers. TensorFlow's files have no shapes; the converter needs the ranks, at least."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from onnx import helper

from ..model_builder import ModelBuilder, Shape
from .infer import Array, Fact, Sizes, infer, numbers_of


class FactBuilder(ModelBuilder):
    """`facts` are those of all values so far, in the graphs around this one, too."""

    def __init__(self, name: str, parent: FactBuilder | None = None) -> None:
        super().__init__(name, parent)
        self.facts: dict[str, Fact] = parent.facts if parent else {}

    def region(self, name: str) -> FactBuilder:
        return FactBuilder(name, self)

    def input(self, name: str, dtype: int, shape: Shape | None) -> str:
        own = super().input(name, dtype, shape)
        known = None if shape is None else tuple(n if isinstance(n, int) else None for n in shape)
        self.facts[own] = Fact(dtype, known)
        return own

    def constant(self, data: Array, stem: str = "constant", dtype: int | None = None) -> str:
        own = super().constant(data, stem, dtype)
        kind = helper.np_dtype_to_tensor_dtype(data.dtype) if dtype is None else dtype
        self.facts[own] = Fact(kind, data.shape, data, numbers_of(data))
        return own

    def node(
        self, op: str, inputs: Sequence[str], stem: str, *, outputs: Sequence[str] | None = None, **attributes: Any
    ) -> str:
        first = super().node(op, inputs, stem, outputs=outputs, **attributes)
        operands = [self.facts.get(i, Fact(0)) for i in inputs]
        for i, name in enumerate([first] if outputs is None else outputs):
            if name:
                self.facts[name] = infer(op, operands, attributes, i, len(outputs or [first]))
        return first


def with_shape(builder: FactBuilder, value: str, shape: Sizes | None) -> None:
    """States what the file says of a shape that is not known otherwise."""
    fact = builder.facts.get(value)
    if fact is not None and fact.shape is None and shape is not None:
        builder.facts[value] = replace(fact, shape=shape)


__all__ = ["Fact", "FactBuilder", "Sizes", "with_shape"]
