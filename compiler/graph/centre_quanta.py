"""Quanta are stored less their zero point, as the products that read them take them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..dtypes import F32, I8, I16, U8, highest, lowest, storage_type
from ..ops.call import OWN_DOMAIN
from .ir import Graph, Node, Value
from .move_quanta import MOVES
from .names import Names, value_names

PRODUCTS = ("ConvInteger", "DequantizedConv", "DequantizedConvTranspose", "DequantizedMatMul", "MatMulInteger")
"""Operators of operands 0 and 1, with zero points 2 and 3."""


def centre_quanta(graph: Graph) -> Graph:
    """q = QuantizeLinear(x, s, z); DequantizeLinear(q, t, z); DequantizedConv(q, w, z)
    ->  c = CentredQuantize(x, s); DequantizeLinear(c, t); DequantizedConv(c, w, none)

    where nothing else reads q, and scale and zero point are constant scalars. c is int16(q) - z. Moves of q are moves
    of c.
    """
    names, readers = value_names(graph), graph.consumers()
    centred: dict[Value, Value] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        q = node.outputs[0]
        zero = _zero_point(graph, node)
        if q is None or zero is None or not _is_read_less(graph, q, zero, readers):
            nodes.append(_of_centred(node, centred, names))
            continue
        centred[q] = Value(names.fresh(f"{q.name}.centred"), q.shape, I16)
        stored = storage_type(node.attributes.get("output_dtype"))
        low, high = (lowest(q.dtype), highest(q.dtype)) if stored is None else stored.span
        bounds = {"low": int(low) - zero, "high": int(high) - zero}
        nodes.append(Node("CentredQuantize", node.name, node.inputs[:2], (centred[q],), bounds, 1, OWN_DOMAIN))
    return replace(graph, nodes=tuple(nodes)) if centred else graph


def _zero_point(graph: Graph, node: Node) -> int | None:
    """The zero point of a QuantizeLinear to 8 bits by one constant scale; None for other nodes."""
    if node.op != "QuantizeLinear" or node.inputs[0] is None or node.inputs[0].dtype != F32:
        return None
    if node.outputs[0] is None or node.outputs[0].dtype not in (I8, U8):
        return None
    scale, zero = node.inputs[1], node.inputs[2] if len(node.inputs) > 2 else None
    if scale is None or scale.dtype != F32 or scale not in graph.constants or graph.constants[scale].size != 1:
        return None
    return _scalar(graph, zero)


def _scalar(graph: Graph, zero: Value | None) -> int | None:
    """A zero point that is one constant, or absent; None for others."""
    if zero is None:
        return 0
    return int(graph.constants[zero].item()) if zero in graph.constants and graph.constants[zero].size == 1 else None


def _is_read_less(graph: Graph, q: Value, zero: int, readers: Mapping[Value, list[Node]]) -> bool:
    """Whether all that reads `q`, or what moves make of it, subtracts `zero`."""

    def reads_less(reader: Node) -> bool:
        if reader.op in MOVES and reader.op != "Concat" and reader.inputs[0] is q and reader.inputs.count(q) == 1:
            return all(v is None or _is_read_less(graph, v, zero, readers) for v in reader.outputs)
        return _subtracts(graph, reader, q, zero)

    return q not in graph.results and all(map(reads_less, readers.get(q, ())))


def _subtracts(graph: Graph, reader: Node, q: Value, zero: int) -> bool:
    """Whether the first operand of `reader` alone is `q`, from which it subtracts `zero` first of all."""
    if reader.regions or reader.inputs.count(q) != 1 or reader.inputs[0] is not q:
        return False
    if reader.op not in (*PRODUCTS, "DequantizeLinear"):
        return False
    return _scalar(graph, reader.inputs[2] if len(reader.inputs) > 2 else None) == zero


def _of_centred(node: Node, centred: dict[Value, Value], names: Names) -> Node:
    """The node that reads a centred value in place of quanta less their zero point; one that moves them makes more."""
    q = node.inputs[0] if node.inputs else None
    if q is None or q not in centred:
        return node
    if node.op in MOVES:
        moved = {v: Value(names.fresh(f"{v.name}.centred"), v.shape, I16) for v in node.outputs if v is not None}
        centred.update(moved)
        outputs = tuple(None if v is None else moved[v] for v in node.outputs)
        return replace(node, inputs=(centred[q], *node.inputs[1:]), outputs=outputs)
    others = node.inputs[3:] if node.op in PRODUCTS else ()
    inputs = (centred[q], node.inputs[1], *((None, *others) if others else ()))
    return replace(node, inputs=inputs, opset=max(node.opset, 21) if node.op == "DequantizeLinear" else node.opset)
