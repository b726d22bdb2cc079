"""Removes what no output depends on."""

from __future__ import annotations

from dataclasses import replace

from .copy_nodes import each_region
from .ir import Graph, Node


def eliminate_dead_code(graph: Graph) -> Graph:
    """Without nodes and constants that no output needs; unused outputs of nodes become None.

    Inputs stay, read or not: they are part of the model's signature.
    """
    graph = each_region(graph, eliminate_dead_code)
    live = set(graph.results)
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        outputs = tuple(v if v in live else None for v in node.outputs)
        if any(v is not None for v in outputs):
            kept.append(node if outputs == node.outputs else replace(node, outputs=outputs))
            live.update(node.reads)
    nodes = tuple(reversed(kept))
    for v, node in reversed(tuple(graph.folded.items())):
        if v in live:
            live.update(node.reads)
    constants = {v: data for v, data in graph.constants.items() if v in live}
    if nodes == graph.nodes and len(constants) == len(graph.constants):
        return graph
    folded = {v: node for v, node in graph.folded.items() if v in constants}
    return replace(graph, nodes=nodes, constants=constants, folded=folded)
