"""Removes nodes whose result is one of their inputs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..dtypes import storage_type
from .ir import Array, Graph, Node, Value


def remove_identities(graph: Graph) -> Graph:
    """Without nodes that pass an input on unchanged. Graph outputs keep their names: the node before takes it over, and
    where there is none (an input or constant that is an output) an Identity stays."""
    replaced: dict[Value, Value] = {}
    renamed: dict[Value, Value] = {}
    outputs = frozenset(graph.outputs)
    bound = {*graph.inputs, *graph.constants, *outputs}
    nodes: list[Node] = []
    for node in graph.nodes:
        source, target = _source(node, graph), node.outputs[0]
        if source is None or target is None or (source.shape, source.dtype) != (target.shape, target.dtype):
            nodes.append(node)
            continue
        source = replaced.get(source, source)
        if target not in outputs:
            replaced[target] = source
        elif source not in bound and source not in renamed:
            # Under its new name the value is an output: what was read as `target` is now the same value.
            renamed[source] = target
        elif node.op == "Identity":
            nodes.append(node)
        else:
            nodes.append(Node("Identity", node.name, (source,), (target,), {}, node.opset))
    if tuple(nodes) == graph.nodes:
        return graph
    kept = tuple(replace(n, outputs=tuple(renamed.get(v, v) if v else None for v in n.outputs)) for n in nodes)
    return graph.with_values({**replaced, **renamed}, nodes=kept)


def _source(node: Node, graph: Graph) -> Value | None:
    """The input that `node` passes on as its only output, given that shapes and dtypes agree; None for none."""
    first = node.inputs[0] if node.inputs else None
    if any(v is not None for v in node.outputs[1:]):
        return None
    match node.op:
        case "Cast" | "CastLike":
            return first if storage_type(node.attributes.get("to")) is None else None
        case "Identity" | "Reshape" | "Flatten" | "Squeeze" | "Unsqueeze":
            return first
        case "Expand" | "Tile" | "Split":
            return first
        case "Sum" | "Mean" | "Max" | "Min":
            return first if len(node.inputs) == 1 else None
        case "Dropout":
            # Before opset 12 a Dropout never trains.
            training = _constant(node, 2, graph)
            return first if len(node.inputs) < 3 or (training is not None and not training.any()) else None
        case "Clip":
            bounded = (
                any(v is not None for v in node.inputs[1:]) or "min" in node.attributes or "max" in node.attributes
            )
            return None if bounded else first
        case "Transpose":
            return first if first is not None and _keeps_order(node, first) else None
        case "Pad":
            pads = _constant(node, 1, graph) if node.opset >= 11 else np.asarray(node.attributes["pads"])
            return first if pads is not None and not pads.any() else None
        case "Slice":
            # Forward steps that lead to the whole shape take every element.
            steps = _constant(node, 4, graph) if len(node.inputs) > 4 else None
            backward = len(node.inputs) > 4 and node.inputs[4] is not None and (steps is None or (steps < 0).any())
            return None if backward else first
        case "Concat":
            filled = [v for v in node.inputs if v is not None and 0 not in v.shape]
            return filled[0] if len(filled) == 1 else None
        case "Add" | "Mul":
            neutral = 0 if node.op == "Add" else 1
            return _other(node, 1, neutral, graph) or _other(node, 0, neutral, graph)
        case "Sub" | "Div" | "Pow":
            return _other(node, 1, 0 if node.op == "Sub" else 1, graph)
    return None


def _other(node: Node, index: int, neutral: int, graph: Graph) -> Value | None:
    """The other input than input `index` where the latter is a constant that is `neutral` everywhere."""
    data = _constant(node, index, graph)
    return node.inputs[1 - index] if data is not None and bool((data == neutral).all()) else None


def _constant(node: Node, index: int, graph: Graph) -> Array | None:
    v = node.inputs[index] if index < len(node.inputs) else None
    return None if v is None else graph.constants.get(v)


def _keeps_order(node: Node, source: Value) -> bool:
    """Whether a Transpose moves no dimension but those of extent 1."""
    rank = len(source.shape)
    perm = node.attributes.get("perm", tuple(reversed(range(rank))))
    assert isinstance(perm, tuple)
    moved = [d for d in perm if source.shape[int(d)] != 1]
    return moved == sorted(moved)
