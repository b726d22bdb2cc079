"""Computes at compile time what depends on constants only."""

from __future__ import annotations

from dataclasses import replace

from .builder import Builder
from .copy_nodes import Copier
from .ir import Graph, Value


def fold_constants(graph: Graph) -> Graph:
    """Nodes whose inputs are constants become constants: the graph is built again, and a Builder folds."""
    if not any(_is_constant(graph, node.inputs) and not node.regions for node in graph.nodes):
        return graph
    builder, copier = Builder(graph.name), Copier()
    now: dict[Value, Value] = {v: builder.input(v.name, v.shape, v.dtype, v.elements) for v in graph.inputs}
    copier.constants(graph, builder, now)
    for node in graph.nodes:
        copier.node(node, builder, now)
    refusals = [(now[v], text) for v, text in graph.refusals]
    folded = builder.build([now[v] for v in graph.outputs], graph.dimensions, refusals)
    if len(folded.nodes) == len(graph.nodes):
        return graph
    return replace(folded, states=graph.states, labels=graph.labels)


def _is_constant(graph: Graph, inputs: tuple[Value | None, ...]) -> bool:
    return all(v is None or v in graph.constants for v in inputs)
