"""Graphs as text, for `--dump` and for messages."""

from __future__ import annotations

import numpy as np

from .ir import Array, Attribute, Graph, Node, Value

_SHOWN = 8
"""So many elements of a constant or an attribute are printed."""


def print_graph(graph: Graph) -> str:
    """One line for each input, constant, node, output and state; large constants are summarised."""
    lines = [f"graph {graph.name}"]
    lines += [f"  input {v!r}" for v in graph.inputs]
    lines += [f"  constant {v!r} = {_data(data)}" for v, data in graph.constants.items()]
    lines += [f"  {_node(node)}" for node in graph.nodes]
    lines += [f"  output {v!r}" for v in graph.outputs]
    lines += [f"  state {s.before} is {s.after} of the run before" for s in graph.states]
    return "\n".join(lines) + "\n"


def _node(node: Node) -> str:
    outputs = ", ".join("_" if v is None else repr(v) for v in node.outputs)
    attributes = "".join(f", {name}={_attribute(value)}" for name, value in sorted(node.attributes.items()))
    return f"{outputs} = {node.op}({', '.join(map(_name, node.inputs))}{attributes})  # {node.name}"


def _name(value: Value | None) -> str:
    return "_" if value is None else value.name


def _attribute(value: Attribute) -> str:
    if isinstance(value, np.ndarray):
        return _data(value)
    return repr(list(value)) if isinstance(value, tuple) else repr(value)


def _data(data: Array) -> str:
    if data.size <= _SHOWN:
        return str(data.tolist())
    if data.dtype.kind == "b":
        return f"{data.size} elements, {int(data.sum())} true"
    return f"{data.size} elements, {data.min():g} to {data.max():g}"
