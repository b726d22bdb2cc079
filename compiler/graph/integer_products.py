"""Products of dequantised operands become products of integers, scaled afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from ..dtypes import F32, I8, U8, from_numpy
from ..ir.sizes import capacity
from ..ops.call import OWN_DOMAIN
from .ir import Array, Attribute, Graph, Node, Value
from .names import Names, value_names

LARGEST = 2**31 // (255 * 255)
"""Products of which the sum is below 2**31, whatever the operands are."""


@dataclass(frozen=True, slots=True)
class _Quanta:
    """(q - zero) * scale, which are constants: of one element, or one for each place along an axis of q."""

    q: Value
    scale: Array
    zero: Array | None
    axis: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of a constant."""
        return tuple(n for n in self.q.shape if isinstance(n, int))

    @property
    def is_one(self) -> bool:
        """Whether there is one scale, and one zero point or none."""
        return self.scale.size == 1 and (self.zero is None or self.zero.size == 1)

    def along(self, axis: int) -> bool:
        """Whether there are several scales or zero points along no other axis."""
        return self.is_one or self.axis % len(self.q.shape) == axis


def integer_products(graph: Graph) -> Graph:
    """y = Conv(DequantizeLinear(x, s, z), DequantizeLinear(w, t), b)
    ->  y = DequantizedConv(x, w, z, none, s * t, b)

    and ConvTranspose, MatMul and Gemm likewise, where x and w are of 8 bits, and each filter or column has one scale.
    Filters are constants; both operands of a product of matrices may be computed. Sums of quanta are exact; they are
    rounded once, by the scale.
    """
    rewriter = _Rewriter(graph)
    nodes = tuple(n for node in graph.nodes for n in rewriter.node(node) or (node,))
    if nodes == graph.nodes:
        return graph
    constants = {**graph.constants, **rewriter.constants}
    return replace(graph, nodes=(*rewriter.transposes, *nodes), constants=constants)


class _Rewriter:
    """Makes the nodes of products; `constants` are new ones, `transposes` nodes of constants, and `moves` those that
    transpose operands of the next product."""

    def __init__(self, graph: Graph) -> None:
        self._constants, self._producers = graph.constants, {**graph.producers(), **graph.folded}
        self._names: Names = value_names(graph)
        self.constants: dict[Value, Array] = {}
        self.transposes: list[Node] = []
        self._moves: list[Node] = []

    def node(self, node: Node) -> tuple[Node, ...]:
        """The nodes that replace `node`; none where it stays."""
        self._moves = []
        match node.op:
            case "Conv":
                product = self._conv(node)
            case "ConvTranspose":
                product = self._conv_transpose(node)
            case "MatMul" | "Gemm":
                product = self._mat_mul(node)
            case _:
                product = None
        return () if product is None else (*self._moves, product)

    def _conv(self, node: Node) -> Node | None:
        x, w = self._operands(node)
        if x is None or w is None or not w.along(0) or prod(w.shape[1:]) >= LARGEST:
            return None
        return self._scaled(node, "DequantizedConv", x, w, w.q, node.attributes)

    def _conv_transpose(self, node: Node) -> Node | None:
        x, w = self._operands(node)
        if x is None or w is None or not w.along(1):
            return None
        depth, _, *taps = w.shape
        group = node.attributes.get("group", 1)
        if depth * prod(taps) >= LARGEST or not isinstance(group, int):
            return None
        each = replace(w, scale=np.tile(w.scale, group)) if w.scale.size > 1 else w
        return self._scaled(node, "DequantizedConvTranspose", x, each, w.q, node.attributes)

    def _mat_mul(self, node: Node) -> Node | None:
        x, w = (self._quanta(v) for v in node.inputs[:2])
        if x is None or w is None or not x.is_one or self._is_constant(x.q):
            return None
        turned = [node.attributes.get(name, 0) != 0 for name in ("transA", "transB")]
        rank = len(w.q.shape)
        column, depth = (rank - 2, rank - 1) if turned[1] else (rank - 1, max(rank - 2, 0))
        if not w.along(column) or (rank == 1 and not w.is_one) or capacity(w.q.shape[depth]) >= LARGEST:
            return None
        if self._is_constant(w.q) and rank != 2:
            return None
        a, b = (self._transposed(v.q) if turn else v.q for v, turn in zip((x, w), turned, strict=True))
        return self._scaled(node, "DequantizedMatMul", replace(x, q=a), w, b, {})

    def _transposed(self, w: Value) -> Value:
        """A matrix that a node makes; of a constant it is folded: what the model has in fewer bits is transposed at
        load."""
        name = self._names.fresh(f"{w.name}.transposed")
        result = Value(name, w.shape[::-1], w.dtype)
        made = self.transposes if self._is_constant(w) else self._moves
        made.append(Node("Transpose", name, (w,), (result,), {"perm": (1, 0)}, 13))
        return result

    def _scaled(
        self, node: Node, op: str, x: _Quanta, w: _Quanta, weights: Value, attributes: Mapping[str, Attribute]
    ) -> Node | None:
        """The product in quanta, times the scales, plus the bias."""
        alpha, beta = (node.attributes.get(name, 1.0) for name in ("alpha", "beta"))
        assert isinstance(alpha, float | int)
        assert isinstance(beta, float | int)
        shift = None
        if len(node.inputs) > 2 and node.inputs[2] is not None and beta:
            shift = self._constants.get(node.inputs[2])
            if shift is None or shift.ndim > 1:
                return None
            shift = shift if beta == 1 else (shift * np.float64(beta)).astype(np.float32)
        factor = (alpha * x.scale.astype(np.float64) * w.scale.astype(np.float64)).astype(np.float32)
        operands = {"zero_point": x.zero, "zero_points": w.zero, "factor": factor, "bias": shift}
        parameters = (None if a is None else self._constant(f"{node.name}.{k}", a) for k, a in operands.items())
        return Node(op, node.name, (x.q, weights, *parameters), node.outputs, attributes, 1, OWN_DOMAIN)

    def _operands(self, node: Node) -> tuple[_Quanta | None, _Quanta | None]:
        """Operands that are quanta: with one scale, and constant ones."""
        x, w = (self._quanta(v) for v in node.inputs[:2])
        if x is None or w is None or not self._is_constant(w.q) or self._is_constant(x.q):
            return None, None
        return (x, w) if x.is_one else (None, None)

    def _quanta(self, v: Value | None) -> _Quanta | None:
        """Quanta that `v` was dequantised from."""
        node = None if v is None else self._producers.get(v)
        if node is not None and node.op == "Transpose" and v in self._constants:
            stored = self._quanta(node.inputs[0])
            if stored is None or stored.q not in self._constants or len(stored.q.shape) != 2:
                return None
            return replace(stored, q=self._transposed(stored.q), axis=1 - stored.axis % 2)
        if node is None or node.op != "DequantizeLinear" or node.attributes.get("block_size", 0):
            return None
        q, scale, *zero = node.inputs
        if q is None or q.dtype not in (I8, U8) or v is None or v.dtype != F32:
            return None
        if scale is None or scale not in self._constants:
            return None
        if zero and zero[0] is not None and zero[0] not in self._constants:
            return None
        axis = node.attributes.get("axis", 1)
        assert isinstance(axis, int)
        zeros = self._constants[zero[0]] if zero and zero[0] is not None else None
        return _Quanta(q, self._constants[scale].reshape(-1), zeros, axis)

    def _is_constant(self, q: Value) -> bool:
        return q in self._constants or any(q in node.outputs for node in self.transposes)

    def _constant(self, stem: str, data: Array) -> Value:
        """A new constant; of one element it is a scalar."""
        data = np.asarray(data.reshape(()) if data.size == 1 else data, order="C")
        value = Value(self._names.fresh(stem), data.shape, from_numpy(data.dtype))
        self.constants[value] = data
        return value
