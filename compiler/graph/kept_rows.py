"""States whose rows a run leaves as they are."""

from __future__ import annotations

from .ir import Graph, Node, Value

QUERIES = "com.microsoft.GroupQueryAttention"

_APPENDING = ("Concat", "Attention", QUERIES, "com.microsoft.MultiHeadAttention", "com.microsoft.Attention")
"""Operators that give the rows of an operand with new ones behind them."""

_SAME = ("Identity", "Cast", "Transpose", "Squeeze", "Unsqueeze")
"""Operators that leave rows in their order."""


def keeps_rows(graph: Graph, before: str, after: str) -> bool:
    """Whether the output `after` is known to be the input `before`, perhaps with new rows behind its own."""
    state = next(v for v in graph.inputs if v.name == before)
    value = _source(graph, after)
    if value is state:
        return True
    node = graph.producers().get(value)
    return node is not None and node.op in _APPENDING and any(_begins(graph, v, state) for v in _first(node))


def joining_node(graph: Graph, after: str) -> Node | None:
    """The node that gives the rows of the output `after` their order."""
    return graph.producers().get(_source(graph, after))


def _source(graph: Graph, output: str) -> Value:
    """The value that has the rows of an output in their order."""
    value, producers = next(v for v in graph.outputs if v.name == output), graph.producers()
    while (node := producers.get(value)) is not None and node.op in _SAME and node.inputs[0] is not None:
        value = node.inputs[0]
    return value


def _first(node: Node) -> tuple[Value | None, ...]:
    """The operands of which one may have the first rows of the result."""
    return node.inputs[:1] if node.op == "Concat" else node.inputs


def _begins(graph: Graph, v: Value | None, state: Value) -> bool:
    """Whether a tensor begins with all rows of a state."""
    producers = graph.producers()
    while v is not None and v is not state and v in producers and producers[v].op in (*_SAME, "Concat"):
        v = producers[v].inputs[0]
    return v is state
