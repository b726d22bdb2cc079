"""Products of weights in few bits: whether activations are quantised to 8 bits, whatever the model says."""

from __future__ import annotations

from dataclasses import replace

from ..ops.quantisation.block_quantized import QUANTA
from .ir import Graph, Node

LEVEL = "accuracy_level"


def activations_in_floats(graph: Graph) -> Graph:
    """MatMulNBits multiplies floats."""
    return _with_level(graph, 0)


def activations_in_bytes(graph: Graph) -> Graph:
    """MatMulNBits may quantise its first operand, in blocks."""
    return _with_level(graph, QUANTA)


def _with_level(graph: Graph, level: int) -> Graph:
    def changed(node: Node) -> Node:
        if node.op == "com.microsoft.MatMulNBits" and node.attributes.get(LEVEL, 0) != level:
            return replace(node, attributes={**node.attributes, LEVEL: level})
        regions = tuple(_with_level(r, level) for r in node.regions)
        return node if regions == node.regions else replace(node, regions=regions)

    nodes = tuple(map(changed, graph.nodes))
    return graph if nodes == graph.nodes else replace(graph, nodes=nodes)
