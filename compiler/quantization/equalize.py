"""Equalises the ranges of channels between layers (Nagel et al., Data-Free Quantization)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..graph.ir import Array, Graph, Node, Value
from ..graph.names import value_names
from .units import Unit, result_of

_ROUNDS = 8
"""After so many, the ranges of chains of layers hardly change."""

_LARGEST = 64.0
"""Factors of channels, so that channels of almost no weight are not made the largest ones."""


@dataclass(frozen=True, eq=False, slots=True)
class Pair:
    """Layers of which the second alone reads the first one's result, channel by channel, at most limited to be above
    zero in between."""

    first: Unit
    second: Unit

    @property
    def names(self) -> tuple[str, str]:
        return self.first.name, self.second.name


def find_pairs(graph: Graph, units: Sequence[Unit]) -> list[Pair]:
    readers = graph.consumers()
    heads = {u.head: u for u in units if u.layer}
    pairs = []
    for u in units:
        if not u.layer or u.output in graph.results or not _may_scale(u.head, graph):
            continue
        if not all(n.op in ("Add", "Relu") for n in u.nodes[1:]):
            continue
        users = readers.get(u.output, [])
        second = heads.get(users[0]) if len(users) == 1 else None
        if (
            second is not None
            and _may_scale(second.head, graph)
            and (u.head.op == "Conv") == (second.head.op == "Conv")
        ):
            pairs.append(Pair(u, second))
    return pairs


def equalize(graph: Graph, pairs: Sequence[Pair]) -> Graph:
    """A graph of the same function, in which both weights of each channel between the layers of a pair have one largest
    magnitude: the first is divided, the second multiplied by the root of the quotient of theirs."""
    constants = dict(graph.constants)
    own: dict[tuple[Node, int], Value] = {}
    names = value_names(graph)

    def get(node: Node, index: int) -> Array:
        value = own.get((node, index)) or node.inputs[index]
        assert value is not None
        return constants[value]

    def put(node: Node, index: int, data: Array) -> None:
        if (node, index) not in own:
            like = node.inputs[index]
            assert like is not None
            own[node, index] = Value(names.fresh(f"{like.name}_equalized"), like.shape, like.dtype)
        constants[own[node, index]] = data.astype(np.float32)

    for _ in range(_ROUNDS):
        for pair in pairs:
            a, b = pair.first.head, pair.second.head
            first, second = _by_output(a, get(a, 1)), _by_input(b, get(b, 1))
            largest, other = np.abs(first).max(1), np.abs(second).max((1, 2))
            used = (largest > 0) & (other > 0)
            factor = np.sqrt(np.divide(largest, other, where=used, out=np.ones_like(largest)))
            factor = np.clip(factor, 1 / _LARGEST, _LARGEST)
            put(a, 1, _from_output(a, first / factor[:, None], get(a, 1)))
            put(b, 1, _from_input(b, second * factor[:, None, None], get(b, 1)))
            for node, index in _biases(pair.first, graph):
                put(node, index, get(node, index) / factor.reshape(get(node, index).shape))
    changed = {n for n, _ in own}
    nodes = tuple(
        replace(n, inputs=tuple(own.get((n, i), v) for i, v in enumerate(n.inputs))) if n in changed else n
        for n in graph.nodes
    )
    return replace(graph, nodes=nodes, constants=constants)


def _may_scale(node: Node, graph: Graph) -> bool:
    """Whether its channels are axes of weights, and its bias has one element for each."""
    attributes = node.attributes
    plain = not attributes.get("transA", 0) and attributes.get("alpha", 1.0) == attributes.get("beta", 1.0) == 1.0
    weights, bias = node.inputs[1], node.inputs[2] if len(node.inputs) > 2 else None
    assert weights is not None
    if node.op == "ConvTranspose" or not plain or (node.op != "Conv" and len(weights.shape) != 2):
        return False
    channels = weights.shape[0 if node.op == "Conv" or attributes.get("transB", 0) else 1]
    return bias is None or graph.constants[bias].size == channels


def _biases(unit: Unit, graph: Graph) -> list[tuple[Node, int]]:
    """Constants that are added to the layer's channels."""
    biases = [(unit.head, 2)] if len(unit.head.inputs) > 2 and unit.head.inputs[2] is not None else []
    for before, node in zip(unit.nodes, unit.nodes[1:], strict=False):
        if node.op == "Add":
            biases += [
                (node, i) for i, v in enumerate(node.inputs) if v is not result_of(before) and v in graph.constants
            ]
    return biases


def _by_output(node: Node, weights: Array) -> Array:
    """Rows of weights of each channel of the result."""
    rows = weights if node.op == "Conv" or node.attributes.get("transB", 0) else weights.T
    return rows.reshape(rows.shape[0], -1)


def _from_output(node: Node, rows: Array, like: Array) -> Array:
    return rows.reshape(like.shape) if node.op == "Conv" or node.attributes.get("transB", 0) else rows.T


def _by_input(node: Node, weights: Array) -> Array:
    """Weights by channel of the operand: (channel, filter, tap)."""
    if node.op != "Conv":
        rows = weights.T if node.attributes.get("transB", 0) else weights
        return rows[:, :, None]
    groups = _groups(node)
    filters, depth = weights.shape[:2]
    grouped = weights.reshape(groups, filters // groups, depth, -1).swapaxes(1, 2)
    return grouped.reshape(groups * depth, filters // groups, -1)


def _from_input(node: Node, data: Array, like: Array) -> Array:
    if node.op != "Conv":
        return data[:, :, 0].T if node.attributes.get("transB", 0) else data[:, :, 0]
    groups, depth = _groups(node), like.shape[1]
    return data.reshape(groups, depth, like.shape[0] // groups, -1).swapaxes(1, 2).reshape(like.shape)


def _groups(node: Node) -> int:
    groups = node.attributes.get("group", 1)
    assert isinstance(groups, int)
    return groups
