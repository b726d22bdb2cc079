"""Products by weights that are dequantised in blocks become MatMulNBits, which may quantise the other operand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..dtypes import F32, I8, U8, from_numpy
from ..ops.quantisation.block_quantized import BITS, LEAST_BLOCK, QUANTA
from .ir import Array, Graph, Node, Value
from .names import Names, value_names

DOMAIN = "com.microsoft"


def multiply_blocks(graph: Graph) -> Graph:
    """y = MatMul(x, DequantizeLinear(w, s, z))   ->   y = com.microsoft.MatMulNBits(x, w', s', z')

    where w, of 8 bits, is a constant matrix with scales of blocks along the axis that is summed over. Gemm likewise.
    """
    rewriter = _Rewriter(graph)
    nodes = tuple(rewriter.node(node) or node for node in graph.nodes)
    if nodes == graph.nodes:
        return graph
    return replace(graph, nodes=nodes, constants={**graph.constants, **rewriter.constants})


class _Rewriter:
    """Makes the nodes of products; `constants` are new ones."""

    def __init__(self, graph: Graph) -> None:
        self._constants, self._producers = graph.constants, {**graph.producers(), **graph.folded}
        self._names: Names = value_names(graph)
        self.constants: dict[Value, Array] = {}

    def node(self, node: Node) -> Node | None:
        """The node that replaces `node`."""
        if node.op not in ("MatMul", "Gemm") or node.inputs[1] is None or node.inputs[1].dtype != F32:
            return None
        made = self._producers.get(node.inputs[1])
        attributes = node.attributes
        plain = attributes.get("transA", 0) == 0 and attributes.get("alpha", 1.0) == 1 == attributes.get("beta", 1.0)
        if made is None or made.op != "DequantizeLinear" or not plain:
            return None
        columns = 0 if attributes.get("transB", 0) else 1
        size, axis = made.attributes.get("block_size", 0), made.attributes.get("axis", 1)
        q, scale, zero = (self._data(v) for v in (*made.inputs, None)[:3])
        if q is None or scale is None or q.ndim != 2 or not isinstance(size, int) or not isinstance(axis, int):
            return None
        if axis % 2 == columns or size < LEAST_BLOCK or size & (size - 1) or (len(made.inputs) > 2 and zero is None):
            return None
        if q.dtype not in (I8.numpy, U8.numpy):
            return None
        bias = node.inputs[2] if len(node.inputs) > 2 else None
        if bias is not None and bias.shape != (q.shape[columns],):
            return None
        zeros = np.zeros(scale.shape, q.dtype) if zero is None else zero
        if columns == 1:
            q, scale, zeros = q.T, scale.T, zeros.T
        return self._product(node, size, q, scale, zeros, bias)

    def _product(self, node: Node, size: int, q: Array, scale: Array, zeros: Array, bias: Value | None) -> Node:
        """The product by rows of `q`, one for each column of the result."""
        wide = [a.astype(np.int16) for a in (q, zeros)]
        # Signed elements, of 4 bits where those hold them, become unsigned.
        bits = next(b for b in BITS if all(_fits(a, b, q.dtype == I8.numpy) for a in wide))
        shift = 1 << (bits - 1) if q.dtype == I8.numpy else 0
        (columns, depth), blocks = q.shape, scale.shape[1]
        elements = np.pad(wide[0] + shift, [(0, 0), (0, blocks * size - depth)])
        packed = _packed(elements.reshape(columns, blocks, size), bits)
        middle = (wide[1] + shift == 1 << (bits - 1)).all()
        operands = {"quanta": packed, "scales": scale, "zeros": None if middle else _packed(wide[1] + shift, bits)}
        parameters = [None if a is None else self._constant(f"{node.name}.{k}", a) for k, a in operands.items()]
        attributes = {"K": depth, "N": columns, "bits": bits, "block_size": size, "accuracy_level": QUANTA}
        inputs = (node.inputs[0], *parameters, *(() if bias is None else (None, bias)))
        return Node("MatMulNBits", node.name, inputs, node.outputs, attributes, 1, DOMAIN)

    def _data(self, v: Value | None) -> Array | None:
        return None if v is None else self._constants.get(v)

    def _constant(self, stem: str, data: Array) -> Value:
        data = np.ascontiguousarray(data)
        value = Value(self._names.fresh(stem), data.shape, from_numpy(data.dtype))
        self.constants[value] = data
        return value


def _fits(a: Array, bits: int, signed: bool) -> bool:
    least = -(1 << (bits - 1)) if signed else 0
    return bool(((a >= least) & (a < least + (1 << bits))).all())


def _packed(elements: Array, bits: int) -> Array:
    """Bytes of elements along the last axis, the first in the lowest bits."""
    parts = 8 // bits
    whole = np.pad(elements, [*[(0, 0)] * (elements.ndim - 1), (0, -elements.shape[-1] % parts)]).astype(np.uint8)
    split = whole.reshape(*whole.shape[:-1], -1, parts)
    result: Array = np.bitwise_or.reduce([split[..., p] << np.uint8(p * bits) for p in range(parts)])
    return result
