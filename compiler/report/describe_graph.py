"""The graph of a model before fusion."""

from __future__ import annotations

from ..graph.ir import Graph
from .page_data import Node


def describe_graph(imported: Graph, optimised: Graph) -> tuple[Node, ...]:
    """The nodes of the model as imported; those of regions are counted only."""
    kept = {n.name for n in optimised.nodes}
    numbers = {v: i for i, n in enumerate(imported.nodes) for v in n.outputs if v is not None}
    return tuple(
        Node(
            n.name,
            n.op,
            tuple(sorted({numbers[v] for v in n.reads if v in numbers})),
            sum(map(count_nodes, n.regions)),
            n.name in kept,
        )
        for n in imported.nodes
    )


def count_nodes(graph: Graph) -> int:
    """The number of nodes, those of regions among them."""
    return sum(1 + sum(map(count_nodes, n.regions)) for n in graph.nodes)
