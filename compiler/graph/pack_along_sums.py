"""Weights of few bits are packed along the axis that their products sum over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod

import numpy as np

from ..dtypes import STORAGE_TYPES, StorageType
from .ir import Array, Graph, Node, Value
from .names import value_names
from .share_transposes import PRODUCTS

CODEBOOK = {"Reshape": 0, "Mul": 0, "Gather": 1, "Cast": 0}
"""Nodes that apply a codebook and its scales, and which of their inputs has an element for each of the result's."""


def pack_along_sums(graph: Graph) -> Graph:
    """w = Unpack(words)   ->   w = Unpack(words', axis=0)
    where y = MatMul(x, DequantizeLinear(w, s, z)) alone reads w, a constant of less than eight bits; z likewise
    where y = MatMul(x, Mul(Gather(table, Cast(w)), s)) alone reads w, with Reshapes around Mul or without

    In ONNX the elements of a byte are neighbours in a row, which are columns of the product: a vector of columns is of
    parts of bytes then. Along the other axis it is the same part of four bytes.
    """
    consumers = graph.consumers()
    outputs = frozenset(graph.outputs)
    readers: dict[Value, list[Node]] = {}
    for node in graph.folded.values():
        for r in node.reads:
            readers.setdefault(r, []).append(node)
    names = value_names(graph)
    words: dict[Value, Array] = {}
    folded = dict(graph.folded)

    def is_inside(v: Value) -> bool:
        """Whether one node alone reads `v`, a folded one."""
        return v in graph.folded and len(readers[v]) == 1 and v not in consumers and v not in outputs

    for dequantised in graph.folded:
        uses = consumers.get(dequantised, ())
        alone = dequantised not in readers and dequantised not in outputs and uses
        if not alone or not all(_sums_rows(n, dequantised) for n in uses):
            continue
        for v in _elements(graph, dequantised, is_inside):
            unpack = graph.folded[v]
            stored, axis = _packed_along_rows(unpack), len(v.shape) - 2
            if stored is None or len(v.shape) != len(dequantised.shape):
                continue
            data = _packed(graph.constants[v], stored, axis)
            packed = Value(names.fresh(f"{v.name}.packed"), data.shape, stored.word)
            words[packed] = data
            folded[v] = replace(unpack, inputs=(packed,), attributes={**unpack.attributes, "axis": axis})
    return replace(graph, constants={**words, **graph.constants}, folded=folded) if words else graph


def _elements(graph: Graph, w: Value, is_inside: Callable[[Value], bool]) -> list[Value]:
    """The elements, and zero points, of which the matrix `w` is computed by nodes that are read by each other alone:
    each element of `w` by that of the same indices, or zero points by blocks."""
    node = graph.folded[w]
    if node.op == "DequantizeLinear":
        return [v for v in (node.inputs[0], *node.inputs[2:3]) if v is not None and is_inside(v)]
    value = w
    while node.op in CODEBOOK:
        made, read = value, node.inputs[CODEBOOK[node.op]]
        if read is None or not is_inside(read) or prod(read.shape) != prod(made.shape):
            return []
        table = node.inputs[0]
        if node.op == "Gather" and (table is None or len(table.shape) != 1):
            return []
        value, node = read, graph.folded[read]
    return [value] if value is not w and value.shape == w.shape else []


def _sums_rows(node: Node, w: Value) -> bool:
    """Whether the product sums over the last axis but one of its operand `w`."""
    transposed = node.attributes.get("transB", 0)
    return node.op in PRODUCTS and node.inputs[0] is not w and node.inputs[1] is w and not transposed


def _packed_along_rows(unpack: Node) -> StorageType | None:
    """The type of several integers to a byte that a node unpacks in the order of ONNX."""
    number = unpack.attributes.get("to", 0)
    stored = STORAGE_TYPES.get(number) if isinstance(number, int) and unpack.op == "Unpack" else None
    if stored is None or stored.format is not None or stored.per_word == 1 or "axis" in unpack.attributes:
        return None
    value = unpack.outputs[0]
    return stored if value is not None and len(value.shape) >= 2 and 0 not in value.shape else None


def _packed(data: Array, stored: StorageType, axis: int) -> Array:
    """Words of elements that are neighbours along an axis, the first in the lowest bits."""
    rows = np.moveaxis(data, axis, 0)
    rows = np.pad(rows, [(0, -len(rows) % stored.per_word), *[(0, 0)] * (rows.ndim - 1)])
    bits = rows.astype(np.int32) & ((1 << stored.bits) - 1)
    parts = [bits[i :: stored.per_word] << (i * stored.bits) for i in range(stored.per_word)]
    words: Array = np.bitwise_or.reduce(parts).astype(stored.word.numpy)
    return np.ascontiguousarray(np.moveaxis(words, 0, axis))
