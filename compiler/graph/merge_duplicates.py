"""Computes once what is computed several times."""

from __future__ import annotations

from collections.abc import Hashable

from .contents import contents, hashable
from .ir import Array, Graph, Node, Value


def merge_duplicates(graph: Graph) -> Graph:
    """One of each set of equal constants, and of nodes with equal operator, inputs and attributes (common
    subexpressions). Values that are graph outputs stay apart: each has a name of its own."""
    outputs = frozenset(graph.outputs)
    replaced: dict[Value, Value] = {}
    constants: dict[Value, Array] = {}
    seen: dict[Hashable, Value | Node] = {}
    for v, data in graph.constants.items():
        first = seen.setdefault(contents(data), v)
        if first is v or v in outputs:
            constants[v] = data
        else:
            assert isinstance(first, Value)
            replaced[v] = first
    nodes: list[Node] = []
    for node in graph.nodes:
        inputs = tuple(replaced.get(v, v) if v is not None else None for v in node.inputs)
        present = tuple(v is not None for v in node.outputs)
        attributes = tuple(sorted((name, hashable(value)) for name, value in node.attributes.items()))
        regions = tuple(map(id, node.regions))  # of control flow each node has its own
        sizes = tuple(node.sizes.values())  # those of equal nodes are the same, unless others became equal since
        kind = (node.op, node.definition, node.opset)
        first_node = seen.setdefault((kind, inputs, attributes, present, regions, sizes), node)
        if first_node is node or any(v in outputs for v in node.outputs):
            nodes.append(node)
            continue
        assert isinstance(first_node, Node)
        replaced.update((v, w) for v, w in zip(node.outputs, first_node.outputs, strict=True) if v and w)
    if not replaced:
        return graph
    folded = {v: node for v, node in graph.folded.items() if v in constants}
    return graph.with_values(replaced, nodes=tuple(nodes), constants=constants, folded=folded)
