"""Adds nodes of one graph to the builder of another, with the regions in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import replace

from ..dtypes import DType
from ..ir.nodes import Scalar
from ..ir.sizes import Size
from ..ops import OperatorFn
from .builder import Builder
from .ir import Array, Attribute, Graph, Node, Value

Now = MutableMapping[Value, Value]
"""The copy of each value."""


class Copier:
    """Copies nodes with other names, dtypes, shapes, constants and attributes. By default with the same."""

    def name(self, value: Value) -> str:
        return value.name

    def dtype(self, dtype: DType) -> DType:
        return dtype

    def shape(self, shape: tuple[Size, ...]) -> tuple[Size, ...]:
        """The shape of a region's input, or its elements."""
        return shape

    def sizes(self, node: Node) -> Mapping[str, Scalar]:
        """The sizes that a node computes."""
        return node.sizes

    def definition(self, node: Node) -> OperatorFn | None:
        """The definition of an operator that `ops` lacks."""
        return node.definition

    def constant(self, data: Array) -> Array:
        return data

    def attributes(self, attributes: Mapping[str, Attribute]) -> Mapping[str, Attribute]:
        return attributes

    def constants(self, graph: Graph, builder: Builder, now: Now) -> None:
        """Adds the constants of `graph`, with the nodes that compute some of them."""
        for v, data in graph.constants.items():
            now[v] = builder.constant(self.name(v), self.constant(data))
            node = graph.folded.get(v)
            if node is not None and all(r in now for r in node.reads):
                inputs = tuple(None if r is None else now[r] for r in node.inputs)
                outputs = tuple(None if o is None else now[o] for o in node.outputs)
                attributes = self.attributes(node.attributes)
                builder.computed_by(replace(node, inputs=inputs, outputs=outputs, attributes=attributes))

    def node(self, node: Node, builder: Builder, now: Now) -> None:
        """Adds a node, whose outputs are then in `now`."""
        regions = tuple(self._region(region, builder, now) for region in node.regions)
        inputs = [None if v is None else now[v] for v in node.inputs]
        outputs = ["" if v is None else self.name(v) for v in node.outputs]
        attributes, kind = self.attributes(node.attributes), (node.opset, node.domain)
        values = builder.node(
            node.op_type,
            node.name,
            inputs,
            attributes,
            outputs,
            *kind,
            regions,
            self.sizes(node),
            self.definition(node),
        )
        now.update((old, new) for old, new in zip(node.outputs, values, strict=False) if old and new)

    def _region(self, region: Graph, builder: Builder, now: Now) -> Graph:
        inner, here = builder.region(region.name), dict(now)
        for v in region.inputs:
            elements = None if v.elements is None else self.shape(v.elements)
            here[v] = inner.input(self.name(v), self.shape(v.shape), self.dtype(v.dtype), elements)
        self.constants(region, inner, here)
        for node in region.nodes:
            self.node(node, inner, here)
        return inner.build([here[v] for v in region.outputs])


def each_region(graph: Graph, change: Callable[[Graph], Graph]) -> Graph:
    """The graph with `change` applied to all regions of its nodes; the same object where nothing changes."""
    nodes = []
    for node in graph.nodes:
        regions = tuple(change(region) for region in node.regions)
        changed = any(a is not b for a, b in zip(regions, node.regions, strict=True))
        nodes.append(replace(node, regions=regions) if changed else node)
    if all(a is b for a, b in zip(nodes, graph.nodes, strict=True)):
        return graph
    return replace(graph, nodes=tuple(nodes))
