"""Quanta are stored less their zero point, as the products that read them take them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..dtypes import F32, I8, I16, U8, highest, lowest, storage_type
from ..ops.call import OWN_DOMAIN
from .ir import Array, Graph, Node, Value
from .move_quanta import MOVES
from .names import Names, value_names

PRODUCTS = ("ConvInteger", "DequantizedConv", "DequantizedConvTranspose", "DequantizedMatMul", "MatMulInteger")
"""Operators of operands 0 and 1, with zero points 2 and 3."""


def centre_quanta(graph: Graph) -> Graph:
    """q = QuantizeLinear(x, s, z); DequantizeLinear(q, t, z); DequantizedConv(q, w, z)
    ->  c = CentredQuantize(x * (1 / s)); DequantizeLinear(c, t); DequantizedConv(c, w, none)

    where nothing else reads q, and scale and zero point are constant scalars; q may be either operand of a product. c
    is int16(q) - z. Moves of q are moves of c. The multiplication may become part of what computes x
    (`fold_batch_norm`), and the bounds of a Relu or a Clip that does are bounds of c.
    """
    names, readers = value_names(graph), graph.consumers()
    producers = graph.producers()
    node_names = Names(n.name for n in graph.nodes)
    centred: dict[Value, Value] = {}
    reciprocals: dict[Value, Array] = {}
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
        x, scale = node.inputs[:2]
        assert x is not None
        assert scale is not None
        reciprocal = Value(names.fresh(f"{q.name}.reciprocal"), (), F32)
        reciprocals[reciprocal] = np.float32(1) / graph.constants[scale].reshape(())
        clamped = x
        x, least, most = _without_clamp(graph, producers, readers, x, reciprocals[reciprocal])
        if x is not clamped:
            nodes.remove(producers[clamped])
        first, last = int(low) - zero, int(high) - zero
        bounds = {"low": int(np.clip(least, first, last)), "high": int(np.clip(most, first, last))}
        quotient = Value(names.fresh(f"{q.name}.quotient"), x.shape, F32)
        nodes.append(
            Node("Mul", node_names.fresh(f"{node.name}.quotient"), (x, reciprocal), (quotient,), {}, node.opset)
        )
        nodes.append(Node("CentredQuantize", node.name, (quotient,), (centred[q],), bounds, 1, OWN_DOMAIN))
    return replace(graph, nodes=tuple(nodes), constants={**graph.constants, **reciprocals}) if centred else graph


def _without_clamp(
    graph: Graph, producers: Mapping[Value, Node], readers: Mapping[Value, list[Node]], x: Value, reciprocal: Array
) -> tuple[Value, float, float]:
    """The operand of the Relu or Clip that computes `x` for nothing else, and what it bounds quanta by: these are
    rounded in the order of what they stand for."""
    node = producers.get(x)
    unbounded = -math.inf, math.inf
    if node is None or node.inputs[0] is None or x in graph.results or len(readers[x]) != 1:
        return x, *unbounded
    if node.op == "Relu":
        return node.inputs[0], 0, math.inf
    limits = node.inputs[1:]
    known = all(v is None or (v in graph.constants and graph.constants[v].size == 1) for v in limits)
    if node.op != "Clip" or node.attributes or not known:
        return x, *unbounded
    given = [None if v is None else graph.constants[v].item() for v in (*limits, None, None)[:2]]
    least, most = (
        unknown if n is None or math.isnan(n) else float(np.rint(np.float32(n) * reciprocal))
        for n, unknown in zip(given, unbounded, strict=True)
    )
    return (node.inputs[0], least, most) if least <= most else (x, *unbounded)


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

    waiting = [q]
    while waiting:
        q = waiting.pop()
        if q in graph.results:
            return False
        for reader in readers.get(q, ()):
            if reader.op in MOVES and reader.op != "Concat" and reader.inputs[0] is q and reader.inputs.count(q) == 1:
                waiting += [v for v in reader.outputs if v is not None]
            elif not _subtracts(graph, reader, q, zero):
                return False
    return True


def _subtracts(graph: Graph, reader: Node, q: Value, zero: int) -> bool:
    """Whether `reader` subtracts `zero` from `q` first of all, wherever that is its operand."""
    if reader.regions or reader.op not in (*PRODUCTS, "DequantizeLinear"):
        return False
    zeros = _zeros_of(reader)
    places = [i for i, v in enumerate(reader.inputs) if v is q]
    return all(i in zeros and _scalar(graph, zeros[i]) == zero for i in places)


def _zeros_of(node: Node) -> dict[int, Value | None]:
    """The zero points of a product's operands, or of what is dequantised, by the places of these."""
    operands = (0, 1) if node.op in PRODUCTS else (0,)
    return {i: node.inputs[i + 2] if len(node.inputs) > i + 2 else None for i in operands}


def _of_centred(node: Node, centred: dict[Value, Value], names: Names) -> Node:
    """The node that reads a centred value in place of quanta less their zero point; one that moves them makes more."""
    q = node.inputs[0] if node.inputs else None
    if all(v is None or v not in centred for v in node.inputs):
        return node
    if node.op in MOVES and q is not None:
        moved = {v: Value(names.fresh(f"{v.name}.centred"), v.shape, I16) for v in node.outputs if v is not None}
        centred.update(moved)
        outputs = tuple(None if v is None else moved[v] for v in node.outputs)
        return replace(node, inputs=(centred[q], *node.inputs[1:]), outputs=outputs)
    gone = {i + 2 for i in _zeros_of(node) if (v := node.inputs[i]) is not None and v in centred}
    inputs = [None if v is None or i in gone else centred.get(v, v) for i, v in enumerate(node.inputs)]
    given = max(i for i, v in enumerate(inputs) if v is not None) + 1
    opset = max(node.opset, 21) if node.op == "DequantizeLinear" else node.opset
    return replace(node, inputs=tuple(inputs[:given]), opset=opset)
