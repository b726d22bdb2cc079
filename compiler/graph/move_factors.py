"""Factors of keys, which exporters of attention put on both operands of its product, go to the queries alone.

A cache of keys is stored as it is: keys times a factor would be another copy of it, made anew in each run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from .ir import Graph, Node, Value
from .names import value_names


@dataclass(frozen=True, slots=True)
class _Scaled:
    """Operand of a product: the node `scale` has the value `before`, times a number, and `transposed` may follow, or
    stand before it, `inside`."""

    scale: Node
    before: Value
    transposed: Node | None = None
    inside: bool = False


def move_factors(graph: Graph) -> Graph:
    """MatMul(q, Mul(Transpose(k), c))   ->   MatMul(Mul(q, c), Transpose(k))

    for a constant number c, before the Transpose or behind it, multiplied or divided by, and keys k that are an input
    or an output.
    """
    producers, names = graph.producers(), value_names(graph)
    ports = {*graph.inputs, *graph.outputs}
    nodes: list[Node] = []
    for node in graph.nodes:
        found = _find(graph, producers, node, ports)
        if found is None:
            nodes.append(node)
            continue
        q = node.inputs[0]
        assert q is not None
        queries = Value(names.fresh(f"{node.name}.queries"), q.shape, q.dtype)
        factors = tuple(q if v is found.before else v for v in found.scale.inputs)
        nodes.append(replace(found.scale, name=queries.name, inputs=factors, outputs=(queries,)))
        keys = found.before
        if found.transposed is not None and not found.inside:
            (moved,) = found.transposed.outputs
            assert moved is not None
            keys = Value(names.fresh(f"{node.name}.keys"), moved.shape, moved.dtype)
            nodes.append(replace(found.transposed, name=keys.name, inputs=(found.before,), outputs=(keys,)))
        nodes.append(replace(node, inputs=(queries, keys)))
    return graph if len(nodes) == len(graph.nodes) else replace(graph, nodes=tuple(nodes))


def _find(graph: Graph, producers: dict[Value, Node], node: Node, ports: set[Value]) -> _Scaled | None:
    """The scaled second operand of a product."""
    if node.op != "MatMul" or len(node.inputs) != 2 or node.inputs[0] is None or node.inputs[1] is None:
        return None
    last = producers.get(node.inputs[1])
    if last is None:
        return None
    if last.op == "Transpose" and last.inputs[0] is not None:
        scale = producers.get(last.inputs[0])
        before = None if scale is None else _factor_of(graph, scale)
        return _Scaled(scale, before, last) if scale is not None and before in ports and before is not None else None
    before = _factor_of(graph, last)
    moved = None if before is None else producers.get(before)
    if before is None or (moved is not None and moved.op == "Transpose" and moved.inputs[0] in ports):
        return None if before is None else _Scaled(last, before, moved, inside=True)
    return _Scaled(last, before) if before in ports else None


def _factor_of(graph: Graph, node: Node) -> Value | None:
    """The operand that a node multiplies by a number, or divides by one."""
    if node.op not in ("Mul", "Div") or len(node.inputs) != 2:
        return None
    a, b = node.inputs
    for x, c in ((a, b), (b, a)) if node.op == "Mul" else ((a, b),):
        data = None if c is None else graph.constants.get(c)
        if x is None or data is None or x in graph.constants or not x.dtype.is_float:
            continue
        if data.size == 1 and data.ndim <= 1:
            return x
    return None
