"""Computes at compile time what depends on constants only."""

from __future__ import annotations

from .builder import Builder
from .ir import Graph, Value


def fold_constants(graph: Graph) -> Graph:
    """Nodes whose inputs are constants become constants: the graph is built again, and a Builder folds."""
    if not any(_is_constant(graph, node.inputs) for node in graph.nodes):
        return graph
    builder = Builder(graph.name)
    now: dict[Value, Value] = {v: builder.input(v.name, v.shape, v.dtype) for v in graph.inputs}
    now.update((v, builder.constant(v.name, data)) for v, data in graph.constants.items())
    for node in graph.nodes:
        inputs = [None if v is None else now[v] for v in node.inputs]
        names = ["" if v is None else v.name for v in node.outputs]
        made = builder.node(node.op_type, node.name, inputs, node.attributes, names, node.opset, node.domain)
        now.update((old, new) for old, new in zip(node.outputs, made, strict=False) if old and new)
    folded = builder.build([now[v] for v in graph.outputs])
    return graph if len(folded.nodes) == len(graph.nodes) else folded


def _is_constant(graph: Graph, inputs: tuple[Value | None, ...]) -> bool:
    return all(v is None or v in graph.constants for v in inputs)
