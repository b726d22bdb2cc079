"""Which constants are words that hold elements of few bits."""

from __future__ import annotations

from collections.abc import Iterator

from ..dtypes import U8, storage_type
from .ir import Graph, Node, Value

_BNB4 = ("fp4", "nf4")
"""By the attribute `quant_type` of MatMulBnb4."""


def packed_types(graph: Graph) -> dict[Value, str]:
    """By constant the name of the type of the elements that it holds, for the nodes and regions of `graph`."""
    nodes = (*graph.nodes, *graph.folded.values())
    own = {v: name for node in nodes for v, name in _held(node) if v is not None}
    return own | {v: name for node in nodes for region in node.regions for v, name in packed_types(region).items()}


def _held(node: Node) -> Iterator[tuple[Value | None, str]]:
    match node.op:
        case "Unpack":
            stored = storage_type(node.attributes.get("to"))
            if stored is not None:
                yield node.inputs[0], stored.name
        case "com.microsoft.MatMulNBits":
            yield from _of_bits(node, 1)
        case "com.microsoft.GatherBlockQuantized":
            if not node.attributes.get("data_type"):
                yield from _of_bits(node, 0)
        case "com.microsoft.MatMulBnb4":
            kind = node.attributes.get("quant_type", 0)
            yield node.inputs[1], _BNB4[1 if kind else 0]


def _of_bits(node: Node, index: int) -> Iterator[tuple[Value | None, str]]:
    """A node's elements, in the input of this index, and their zero points, in the last of four."""
    bits = node.attributes.get("bits", 4)
    assert isinstance(bits, int)
    for value in (node.inputs[index], *node.inputs[3:4]):
        if value is not None and value.dtype == U8:
            yield value, f"uint{bits}"
