"""Logits of the last token alone, and of what computes them one row, as far up as rows do not mix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..dtypes import I64
from ..graph.ir import Array, Graph, Node, Value
from ..graph.names import Names, value_names
from ..ir.sizes import Size, equal
from .row_rules import RESHAPES, rows_of

OPSET = 13
"""Version of Gather and Reshape."""


def last_rows(graph: Graph, output: str) -> Graph:
    """The graph with the last row of `output`, [.., rows, columns] -> [.., 1, columns], and all that computes this row
    alone for one row instead of all of them: from the head, of which the product is the largest, up to the last layer's
    queries. What reads other rows, as keys and values do, stays. The same object where the output has one row, or the
    node that computes it mixes rows.

        y = MatMul(Relu(x), w)    ->    x.last = Gather(x, [-1]); y = MatMul(Relu(x.last), w)
    """
    value = next(v for v in graph.outputs if v.name == output)
    axis = len(value.shape) - 2
    if axis < 0 or equal(value.shape[axis], 1):
        return graph
    found = _find(graph, value, axis)
    return _Cut(graph, found).graph() if found else graph


@dataclass(frozen=True, slots=True)
class _Rows:
    """A node that is computed for one row: `axis` is that of the rows in its outputs, `operands` are the places of the
    inputs that have rows, each with their axis there."""

    axis: int
    operands: Mapping[int, int]


def _find(graph: Graph, output: Value, axis: int) -> dict[Node, _Rows]:
    """The nodes of which nothing but the last row is wanted."""
    readers = graph.consumers()
    kept = {*graph.outputs, *(v for v, _ in graph.refusals)} - {output}
    wanted: dict[Value, dict[Node | None, int]] = {output: {None: axis}}
    found: dict[Node, _Rows] = {}
    for node in reversed(graph.nodes):
        used = [v for v in node.outputs if v is not None and (v in readers or v in kept or v is output)]
        axes = {a for v in used for a in wanted.get(v, {}).values()}
        if len(axes) != 1 or any(v in kept or len(wanted.get(v, {})) != _uses(v, readers, output) for v in used):
            continue
        (own,) = axes
        operands = rows_of(node, own, graph.constants)
        if not operands:
            continue
        found[node] = _Rows(own, operands)
        for i, place in operands.items():
            v = node.inputs[i]
            # One that is read both by rows and as a whole keeps all its rows; one that is read twice counts once.
            if v is not None and all(operands.get(k) == place for k, other in enumerate(node.inputs) if other is v):
                wanted.setdefault(v, {})[node] = place
    return found


def _uses(v: Value, readers: Mapping[Value, Sequence[Node]], output: Value) -> int:
    return len(readers.get(v, ())) + (v is output)


@dataclass(slots=True)
class _Cut:
    """The graph whose nodes in `found` are computed for one row."""

    source: Graph
    found: Mapping[Node, _Rows]
    names: Names = field(init=False)
    nodes: list[Node] = field(default_factory=list)
    constants: dict[Value, Array] = field(default_factory=dict)
    now: dict[Value, Value] = field(default_factory=dict)
    slices: dict[tuple[Value, int], Value] = field(default_factory=dict)

    def graph(self) -> Graph:
        self.names = value_names(self.source)
        for node in self.source.nodes:
            rows = self.found.get(node)
            self.nodes.append(node if rows is None else self._of_one_row(node, rows))
        outputs = tuple(self.now.get(v, v) for v in self.source.outputs)
        constants = {**self.source.constants, **self.constants}
        return replace(self.source, nodes=tuple(self.nodes), outputs=outputs, constants=constants)

    def _of_one_row(self, node: Node, rows: _Rows) -> Node:
        inputs = list(node.inputs)
        for i, axis in rows.operands.items():
            v = inputs[i]
            assert v is not None
            inputs[i] = self.now[v] if v in self.now else self._last(v, axis)
        for v in node.outputs:
            if v is not None:
                self.now[v] = Value(v.name, _one(v.shape, rows.axis), v.dtype)
        outputs = tuple(None if v is None else self.now[v] for v in node.outputs)
        if node.op not in RESHAPES:
            return replace(node, inputs=tuple(inputs), outputs=outputs)
        (result,) = (v for v in outputs if v is not None)
        shape = self._constant(f"{result.name}.shape", np.array(result.shape, np.int64))
        return Node("Reshape", node.name, (inputs[0], shape), outputs, {}, OPSET)

    def _last(self, v: Value, axis: int) -> Value:
        """The last row of a value that has all of them."""
        if (v, axis) not in self.slices:
            name = self.names.fresh(f"{v.name}.last")
            result = Value(name, _one(v.shape, axis), v.dtype)
            at = self._constant(f"{name}.at", np.array([-1], np.int64))
            self.nodes.append(Node("Gather", name, (v, at), (result,), {"axis": axis}, OPSET))
            self.slices[v, axis] = result
        return self.slices[v, axis]

    def _constant(self, name: str, data: Array) -> Value:
        v = Value(self.names.fresh(name), data.shape, I64)
        self.constants[v] = data
        return v


def _one(shape: Sequence[Size], axis: int) -> tuple[Size, ...]:
    return (*shape[:axis], 1, *shape[axis + 1 :])
