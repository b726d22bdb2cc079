"""The graph IR: typed values and operator nodes in topological order. Every shape is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ..dtypes import DType
from ..ops.call import operator_name

Array = np.ndarray
Attribute = int | float | str | bytes | Array | tuple[int, ...] | tuple[float, ...] | tuple[str, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Value:
    """A tensor that flows between nodes. `name` is the ONNX value name. Compares by identity."""

    name: str
    shape: tuple[int, ...]
    dtype: DType

    def __repr__(self) -> str:
        return f"{self.name}: {self.dtype}{list(self.shape)}"


@dataclass(frozen=True, eq=False, slots=True)
class Node:
    """One operator. `name` is the ONNX node name, `domain` that of the operator ("" for ai.onnx) and `opset` its
    version. Absent optional inputs and unused outputs are None."""

    op_type: str
    name: str
    inputs: tuple[Value | None, ...]
    outputs: tuple[Value | None, ...]
    attributes: Mapping[str, Attribute]
    opset: int
    domain: str = ""

    @property
    def op(self) -> str:
        """The operator's name with its domain, but for ai.onnx: passes that match "Relu" match no other domain's."""
        return operator_name(self.domain, self.op_type)

    def __repr__(self) -> str:
        return f"{self.op} {self.name!r}"


@dataclass(frozen=True, slots=True)
class Graph:
    """`nodes` stand in topological order. `constants` holds the value of every Value that no node makes and that is
    no input."""

    name: str
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    nodes: tuple[Node, ...]
    constants: Mapping[Value, Array]

    def consumers(self) -> dict[Value, list[Node]]:
        """For each value, the nodes that read it, once per node."""
        users: dict[Value, list[Node]] = {}
        for node in self.nodes:
            for value in dict.fromkeys(v for v in node.inputs if v is not None):
                users.setdefault(value, []).append(node)
        return users

    def producers(self) -> dict[Value, Node]:
        return {v: node for node in self.nodes for v in node.outputs if v is not None}

    def with_values(self, replaced: Mapping[Value, Value], **changes: object) -> Graph:
        """The graph with values replaced wherever they are read (chains are followed)."""

        def final(v: Value) -> Value:
            while v in replaced:
                v = replaced[v]
            return v

        g = replace(self, **changes) if changes else self  # type: ignore[arg-type]
        nodes = tuple(
            replace(n, inputs=tuple(None if v is None else final(v) for v in n.inputs))
            if any(v in replaced for v in n.inputs)
            else n
            for n in g.nodes
        )
        return replace(g, nodes=nodes, outputs=tuple(final(v) for v in g.outputs))
