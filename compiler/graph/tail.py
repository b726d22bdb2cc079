"""Nodes behind a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..dtypes import DType
from ..errors import InputError, InternalError
from ..ir.sizes import Size
from .builder import Builder
from .ir import Array, Attribute, Graph, Value
from .names import value_names

OPSET = 13
"""Version of ai.onnx's operators."""


class Tail:
    """Nodes that read values of `graph`, whose results take fresh names."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._builder = Builder(graph.name)
        self._names = value_names(graph)

    def input(self, name: str, shape: tuple[Size, ...], dtype: DType) -> Value:
        """One more input of the model. Raises InputError where a value has its name."""
        if self._names.fresh(name) != name:
            raise InputError(f"the model has a value {name!r}, the name of an input to add: rename it in the model")
        return self._builder.input(name, shape, dtype)

    def constant(self, name: str, data: object, dtype: type = np.float32) -> Value:
        return self._builder.constant(self._names.fresh(name), np.asarray(data, dtype))

    def node(self, op: str, name: str, *inputs: Value, domain: str = "", **attributes: Attribute) -> Value:
        """The first result of a node."""
        return self.nodes(op, (name,), *inputs, domain=domain, **attributes)[0]

    def nodes(
        self, op: str, names: Sequence[str], *inputs: Value, domain: str = "", **attributes: Attribute
    ) -> tuple[Value, ...]:
        """The results of a node, by their names."""
        fresh = [self._names.fresh(name) for name in names]
        opset = 1 if domain else OPSET
        results = self._builder.node(op, fresh[0], inputs, attributes, fresh, opset, domain)
        if None in results:
            raise InternalError(f"nodes behind {self._graph.name!r}: {op} has no result")
        return tuple(v for v in results if v is not None)

    def reshaped(self, name: str, x: Value, *shape: int) -> Value:
        return self.node("Reshape", name, x, self.constant(f"{name}.shape", shape, np.int64))

    def graph(self, outputs: tuple[Value, ...]) -> Graph:
        """The model with these outputs."""
        own: Graph = self._builder.build(outputs)
        constants: dict[Value, Array] = {**self._graph.constants, **own.constants}
        nodes, folded = (*self._graph.nodes, *own.nodes), {**self._graph.folded, **own.folded}
        inputs = (*self._graph.inputs, *own.inputs)
        return replace(self._graph, inputs=inputs, nodes=nodes, outputs=outputs, constants=constants, folded=folded)
