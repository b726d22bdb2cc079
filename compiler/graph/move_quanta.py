"""Quanta are moved as they are, in few bytes, and dequantised where they are read."""

from __future__ import annotations

from dataclasses import replace

from ..dtypes import F32, I8, U8, storage_type
from .ir import Graph, Node, Value
from .names import value_names

MOVES = (
    *("Concat", "DepthToSpace", "Expand", "Flatten", "Identity", "MaxPool", "Reshape", "Slice", "SpaceToDepth"),
    *("Split", "Squeeze", "Tile", "Transpose", "Unsqueeze"),
)
"""Operators whose results are elements of their first input; of Concat, of any."""

LEAST = 2.0**-100
"""Scale from which on quanta that are dequantised and quantised again are the same ones."""


def move_quanta(graph: Graph) -> Graph:
    """y = MaxPool(DequantizeLinear(q, s, z))   ->   y = DequantizeLinear(MaxPool(q), s, z)

    and other moves likewise, for quanta of 8 bits with one scale: the greatest quantum is that of the greatest element.
    QuantizeLinear(DequantizeLinear(q, s, z), s, z) is q.
    """
    names = value_names(graph)
    made = {**graph.producers(), **graph.folded}
    replaced: dict[Value, Value] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        q = _same_quanta(graph, node, made)
        if q is not None and node.outputs[0] not in graph.results:
            assert node.outputs[0] is not None
            replaced[node.outputs[0]] = q
            continue
        sources = [made.get(v) if v is not None else None for v in _moved(node)]
        first = sources[0] if sources else None
        if first is None or any(s is None or s.op != first.op or not _alike(graph, s, first) for s in sources):
            nodes.append(node)
            continue
        quanta = [s.inputs[0] for s in sources if s is not None]
        dtype = quanta[0].dtype if quanta[0] is not None else U8
        outputs = tuple(
            None if v is None else Value(names.fresh(f"{v.name}.quanta"), v.shape, dtype) for v in node.outputs
        )
        nodes.append(replace(node, inputs=(*quanta, *node.inputs[len(quanta) :]), outputs=outputs))
        for v, moved in zip(node.outputs, outputs, strict=True):
            if v is not None:
                made[v] = replace(
                    first, name=f"{node.name}.dequantize", inputs=(moved, *first.inputs[1:]), outputs=(v,)
                )
                nodes.append(made[v])
    if tuple(nodes) == graph.nodes:
        return graph
    return graph.with_values(replaced, nodes=tuple(nodes))


def _moved(node: Node) -> tuple[Value | None, ...]:
    """The inputs whose elements `node` moves; none for other nodes."""
    if node.op not in MOVES or (node.op == "MaxPool" and any(node.outputs[1:])):
        return ()
    return node.inputs if node.op == "Concat" else node.inputs[:1]


def _alike(graph: Graph, node: Node, first: Node) -> bool:
    """Whether both are of quanta of 8 bits, the first dequantises them, and their constant scalars are equal."""
    parameters = _parameters(graph, first) if first.op == "DequantizeLinear" else None
    return parameters is not None and _parameters(graph, node) == parameters


def _parameters(graph: Graph, node: Node) -> tuple[object, ...] | None:
    """Types, scale and zero point of a node between float32 and 8 bits; None for other nodes."""
    x, y = node.inputs[0] if node.inputs else None, node.outputs[0]
    if node.op not in ("DequantizeLinear", "QuantizeLinear") or x is None or y is None:
        return None
    floats, q = (y, x) if node.op == "DequantizeLinear" else (x, y)
    scale, zero = (_scalar(graph, v) for v in (node.inputs[1], node.inputs[2] if len(node.inputs) > 2 else None))
    if floats.dtype != F32 or q.dtype not in (I8, U8) or x in graph.constants or node.attributes.get("block_size", 0):
        return None
    if storage_type(node.attributes.get("output_dtype")) is not None or scale is None or zero is None or scale < LEAST:
        return None
    return q.dtype, scale, zero


def _scalar(graph: Graph, v: Value | None) -> float | None:
    """The element of a constant, 0 of an absent value; None for others."""
    if v is None:
        return 0
    return float(graph.constants[v].item()) if v in graph.constants and graph.constants[v].size == 1 else None


def _same_quanta(graph: Graph, node: Node, made: dict[Value, Node]) -> Value | None:
    """The quanta that `node` makes once more of what they mean."""
    x = node.inputs[0] if node.op == "QuantizeLinear" else None
    source = made.get(x) if x is not None else None
    if source is None or not _alike(graph, node, source):
        return None
    return source.inputs[0]
