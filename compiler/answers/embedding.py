"""A vector of the whole input, of length 1 where that is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..graph.ir import Array, Graph, Value
from .classify import count_of
from .fitted import as_floats, find_output
from .formats import Answer, Embed
from .labels import Labels
from .tail import Tail


@dataclass(frozen=True, slots=True)
class Embedding:
    """The elements of an output, `normalised` or not."""

    output: Value
    size: int
    normalised: bool

    kind = "embedding"

    @property
    def takes(self) -> tuple[Value, ...]:
        return (self.output,)

    @property
    def labels(self) -> Labels | None:
        return None

    @property
    def fields(self) -> dict[str, object]:
        return {}

    def add(self, tail: Tail) -> dict[str, Value]:
        name = self.output.name
        x = tail.reshaped(f"{name}.vector", as_floats(tail, self.output), self.size)
        if self.normalised:
            length = tail.node("ReduceL2", f"{name}.length", x, axes=(0,), keepdims=1)
            some = tail.node("Max", f"{name}.some", length, tail.constant(f"{name}.least", 1e-12))
            x = tail.node("Div", f"{name}.normalised", x, some)
        return {"vector": x}

    def read(self, parts: Mapping[str, Array], shapes: object) -> Array:
        return np.array(parts["vector"])

    def describe(self) -> str:
        return f"a vector of {self.size}{', of length 1' if self.normalised else ''}, {self.output.name}"


def fit_embedding(graph: Graph, answer: Answer, form: Embed) -> Embedding:
    """Raises InputError where no output is a vector."""
    output = find_output(graph, answer, lambda v: count_of(v) > 1, "an output of float32[1, size]")
    return Embedding(output, count_of(output), form.normalise)
