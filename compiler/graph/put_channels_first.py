"""Operators of images whose channels come last become those of channels first, which layouts are chosen for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ..ops.movement.channels_last import to_first, to_last
from .copy_nodes import each_region
from .eliminate_dead_code import eliminate_dead_code
from .ir import Graph, Node, Value
from .names import Names, value_names

_FLAG = "channels_last"
_FLAGGED = ("QLinearAveragePool", "QLinearConv", "QLinearGlobalAveragePool")
"""Operators of com.microsoft whose images have channels last where an attribute says so."""

_NAMED: Mapping[str, tuple[str, str, int]] = {
    "com.microsoft.NhwcConv": ("", "Conv", 11),
    "com.microsoft.NhwcFusedConv": ("com.microsoft", "FusedConv", 1),
    "com.microsoft.NhwcMaxPool": ("", "MaxPool", 12),
}
"""Operators whose images have channels last, with domain, name and opset of those of channels first."""

_SUM = 3
"""The place among the inputs of NhwcFusedConv of an image that is added to the result."""

_UNARY = (
    *("Cast", "Clip", "DequantizeLinear", "Elu", "HardSigmoid", "HardSwish", "LeakyRelu", "QuantizeLinear", "Relu"),
    *("Sigmoid", "Tanh", "com.microsoft.QLinearLeakyRelu", "com.microsoft.QLinearSigmoid"),
)
_BINARY: Mapping[str, tuple[int, int]] = {
    **dict.fromkeys(("Add", "Div", "Mul", "Sub"), (0, 1)),
    **dict.fromkeys(("com.microsoft.QLinearAdd", "com.microsoft.QLinearMul"), (0, 3)),
}
"""Operators of two images, with their places among the inputs."""

_JOINED: Mapping[str, int] = {"Concat": 0, "com.microsoft.QLinearConcat": 2}
"""Operators that join images, with the place of the first: of quanta each has a scale and a zero point behind it."""


def put_channels_first(graph: Graph) -> Graph:
    """y = Nhwc(x)   ->   y = Transpose(Nchw(Transpose(x)))

    for operators of com.microsoft. Transposes cancel each other, also across operators of elements and Concat.
    """
    graph = each_region(graph, put_channels_first)
    if not any(_of_last(node) for node in graph.nodes):
        return graph
    return eliminate_dead_code(_Rewriter(graph).graph())


def _of_last(node: Node) -> bool:
    if node.definition is not None:
        return False
    flagged = node.domain == "com.microsoft" and node.op_type in _FLAGGED and node.attributes.get(_FLAG, 0) == 1
    return flagged or node.op in _NAMED


class _Rewriter:
    """`_planar` has by an image with channels last the value of the same elements with channels first."""

    def __init__(self, graph: Graph) -> None:
        self._graph, self._names = graph, value_names(graph)
        self._constants = graph.constants
        self._nodes: list[Node] = []
        self._planar: dict[Value, Value] = {}
        self._replaced: dict[Value, Value] = {}

    def graph(self) -> Graph:
        for node in self._graph.nodes:
            self._node(node)
        return self._graph.with_values(self._replaced, nodes=tuple(self._nodes))

    def _node(self, node: Node) -> None:
        y = node.outputs[0]
        if y is None or any(node.outputs[1:]) or len(y.shape) < 3 or node.definition is not None:
            self._nodes.append(node)
        elif node.op == "Transpose":
            self._transpose(node, y)
        elif _of_last(node):
            images = [0, _SUM] if node.op_type == "NhwcFusedConv" and _has(node, _SUM) else [0]
            domain, op_type, opset = _NAMED.get(node.op, (node.domain, node.op_type, node.opset))
            attributes = {name: value for name, value in node.attributes.items() if name != _FLAG}
            made = replace(node, domain=domain, op_type=op_type, opset=opset, attributes=attributes)
            self._convert(made, images, y)
        elif images := self._images(node, y):
            axis = {"axis": _axis(node, len(y.shape))} if node.op in _JOINED else {}
            self._convert(replace(node, attributes={**node.attributes, **axis}), images, y)
        else:
            self._nodes.append(node)

    def _transpose(self, node: Node, y: Value) -> None:
        x, rank = node.inputs[0], len(y.shape)
        assert x is not None
        if node.attributes.get("perm") == to_last(rank):
            self._planar[y] = self._replaced.get(x, x)
        elif node.attributes.get("perm") == to_first(rank) and x in self._planar:
            if y not in self._graph.results:
                self._replaced[y] = self._planar[x]
                return
            node = replace(node, op_type="Identity", inputs=(self._planar[x],), attributes={})
        self._nodes.append(node)

    def _images(self, node: Node, y: Value) -> list[int]:
        """The places of images among the inputs, where each element of the result is of the same place in them all, and
        one is known with channels first; other operands have one element. None where that is not so."""
        given = {i: v for i, v in enumerate(node.inputs) if v is not None}
        images = {i: given[i] for i in _places(node) if i in given and not _is_one(given[i])}
        others = [v for i, v in given.items() if i not in images]
        found = images.values()
        known = any(v in self._planar for v in found) and all(map(_is_one, others))
        alike = all(len(v.shape) == len(y.shape) for v in found)
        return [*images] if known and alike and all(v in self._planar or v in self._constants for v in found) else []

    def _convert(self, node: Node, images: Iterable[int], y: Value) -> None:
        """Adds the node, of images with channels first, and the transposed result."""
        rank = len(y.shape)
        inputs = list(node.inputs)
        for i in images:
            x = inputs[i]
            assert x is not None
            inputs[i] = self._planar.get(x) or self._moved(node, x)
        planar = _permuted(y, self._names, "first", to_first(rank))
        self._nodes.append(replace(node, inputs=tuple(inputs), outputs=(planar,)))
        self._planar[y] = planar
        self._nodes.append(_transposed(f"{node.name}.last", planar, y, to_last(rank)))

    def _moved(self, node: Node, x: Value) -> Value:
        """`x` with channels first."""
        perm = to_first(len(x.shape))
        moved = self._planar[x] = _permuted(x, self._names, "first", perm)
        self._nodes.append(_transposed(f"{node.name}.first", x, moved, perm))
        return moved


def _has(node: Node, i: int) -> bool:
    return i < len(node.inputs) and node.inputs[i] is not None


def _is_one(v: Value) -> bool:
    """Whether it has one element, which is of all places."""
    return all(n == 1 for n in v.shape)


def _places(node: Node) -> Iterable[int]:
    """The places of images among the inputs of an operator of elements, or one that joins them."""
    if node.op in _UNARY:
        return () if node.attributes.get("block_size", 0) else (0,)
    if node.op in _BINARY:
        return _BINARY[node.op]
    if node.op in _JOINED:
        return range(_JOINED[node.op], len(node.inputs), 1 if node.op == "Concat" else 3)
    return ()


def _axis(node: Node, rank: int) -> int:
    """The axis along which images with channels first are joined."""
    axis = node.attributes.get("axis", 1)
    assert isinstance(axis, int)
    return to_first(rank).index(axis % rank)


def _permuted(v: Value, names: Names, suffix: str, perm: tuple[int, ...]) -> Value:
    return Value(names.fresh(f"{v.name}.{suffix}"), tuple(v.shape[d] for d in perm), v.dtype)


def _transposed(name: str, x: Value, y: Value, perm: tuple[int, ...]) -> Node:
    return Node("Transpose", name, (x,), (y,), {"perm": perm}, opset=13)
