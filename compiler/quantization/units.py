"""Nodes that are quantised: layers, and what stands between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np

from ..dtypes import F32
from ..errors import InputError
from ..graph.ir import Graph, Node, Value

_LAYERS = ("Conv", "ConvTranspose", "Gemm", "MatMul")

_UNARY = (
    *("AveragePool", "Clip", "Elu", "Gelu", "GlobalAveragePool", "HardSigmoid", "HardSwish", "LeakyRelu", "ReduceMean"),
    *("Relu", "Sigmoid", "Tanh"),
)
SEVERAL = ("Add", "Concat", "Mul", "PRelu", "Sub")
"""Their constants are quantised, too."""

_MOVED = (
    *("DepthToSpace", "Expand", "Flatten", "Gather", "MaxPool", "Reshape", "Slice", "SpaceToDepth", "Squeeze", "Tile"),
    *("Transpose", "Unsqueeze"),
)


_SHOWN = 12
"""Names that a message lists."""


@dataclass(frozen=True, eq=False, slots=True)
class Unit:
    """`nodes` that compute one quantised result of quantised `data`: an operator, and behind it what needs no rounding
    of its own, the bias of a product and the limits that Relu and Clip set. In a `layer` the operator has constant
    weights. A unit that `moves` elements computes none: operand and result have one scale."""

    nodes: tuple[Node, ...]
    data: tuple[Value, ...]
    layer: bool
    moves: bool

    @property
    def head(self) -> Node:
        return self.nodes[0]

    @property
    def name(self) -> str:
        return self.head.name

    @property
    def output(self) -> Value:
        return result_of(self.nodes[-1])


def result_of(node: Node) -> Value:
    """The only output."""
    (value,) = (v for v in node.outputs if v is not None)
    return value


def find_units(graph: Graph) -> tuple[Unit, ...]:
    """Layers, and the other units whose data come from layers and whose results go to layers, in topological order."""
    return _between_layers(_candidates(graph))


def match_names(patterns: Iterable[str], names: Sequence[str]) -> set[str]:
    """The names that match a pattern of --keep. Raises InputError for a pattern that none matches."""
    matching: set[str] = set()
    for pattern in patterns:
        fitting = {n for n in names if fnmatchcase(n, pattern)}
        if not fitting:
            shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
            raise InputError(f"--keep {pattern}: no node that is quantised has this name; they are {shown}")
        matching |= fitting
    return matching


def without(units: Iterable[Unit], names: Iterable[str]) -> tuple[Unit, ...]:
    """Units that are left where those of `names` stay in float32."""
    kept = set(names)
    return _between_layers([u for u in units if u.name not in kept])


def _between_layers(units: list[Unit]) -> tuple[Unit, ...]:
    quantized: set[Value] = set()
    for u in units:
        if u.layer or all(v in quantized for v in u.data):
            quantized.add(u.output)
    read: set[Value] = set()
    chosen = []
    for u in reversed(units):
        if u.layer or (u.output in quantized and u.output in read):
            read.update(u.data)
            chosen.append(u)
    return tuple(reversed(chosen))


def _candidates(graph: Graph) -> list[Unit]:
    readers, results = graph.consumers(), set(graph.results)
    inside: set[Node] = set()
    units = []
    for node in graph.nodes:
        if node in inside:
            continue
        unit = _unit(node, graph)
        if unit is None:
            continue
        nodes = list(unit.nodes)
        bias_may_follow = node.op == "MatMul"
        while not unit.moves:
            following = readers.get(result_of(nodes[-1]), [])
            if len(following) != 1 or result_of(nodes[-1]) in results:
                break
            (reader,) = following
            if bias_may_follow and _is_bias(reader, nodes[-1], graph):
                bias_may_follow = False
            elif limits(reader, graph) is None:
                break
            nodes.append(reader)
        inside.update(nodes)
        units.append(Unit(tuple(nodes), unit.data, unit.layer, unit.moves))
    return units


def _unit(node: Node, graph: Graph) -> Unit | None:
    """The unit of a single node."""
    outputs = [v for v in node.outputs if v is not None]
    if node.domain or len(outputs) != 1 or outputs[0].dtype != F32 or any(v.dtype != F32 for v in node.inputs[:1] if v):
        return None
    first, *rest = node.inputs
    if first is None:
        return None
    constant = all(v is None or v in graph.constants for v in rest)
    if node.op in _LAYERS:
        fits = constant and rest[0] is not None and len(rest[0].shape) >= 2 and first not in graph.constants
        return Unit((node,), (first,), layer=True, moves=False) if fits and len(first.shape) >= 2 else None
    if node.op in SEVERAL:
        data = tuple(dict.fromkeys(v for v in node.inputs if v is not None and v not in graph.constants))
        return Unit((node,), data, layer=False, moves=False) if data else None
    moves = _MOVES[node.op](node, graph) if node.op in _MOVES else node.op in _MOVED
    if not constant or first in graph.constants or not (moves or node.op in (*_UNARY, "Resize")):
        return None
    return Unit((node,), (first,), layer=False, moves=moves)


def _pads_with_zeros(node: Node, graph: Graph) -> bool:
    if node.attributes.get("mode", "constant") != "constant":
        return True
    value = node.inputs[2] if len(node.inputs) > 2 else None
    padding = node.attributes.get("value", 0.0) if value is None else graph.constants.get(value)
    return padding is not None and not np.any(padding)


_MOVES: Mapping[str, Callable[[Node, Graph], bool]] = {
    "Pad": _pads_with_zeros,
    "Resize": lambda node, _: node.attributes.get("mode", "nearest") == "nearest",
}
"""Operators that move elements with some attributes only."""


def _is_bias(node: Node, product: Node, graph: Graph) -> bool:
    """Whether it adds a constant to each column of a product."""
    if node.op != "Add":
        return False
    others = [graph.constants[v] for v in node.inputs if v is not None and v in graph.constants]
    columns = result_of(product).shape[-1]
    return any(data.shape[-1:] == (columns,) and data.size == columns for data in others)


def limits(node: Node, graph: Graph) -> tuple[float, float] | None:
    """Between which Relu or Clip keeps elements; None for other nodes, and where that is not known."""
    if node.op == "Relu":
        return 0.0, float("inf")
    if node.op != "Clip":
        return None
    ends = [float(node.attributes.get(name, default)) for name, default in _ENDS]  # type: ignore[arg-type]
    for i, value in enumerate(node.inputs[1:]):
        if value is not None:
            if value not in graph.constants:
                return None
            ends[i] = float(graph.constants[value].reshape(-1)[0])
    return ends[0], ends[1]


_ENDS = (("min", float("-inf")), ("max", float("inf")))
