"""Writes units of a graph between QuantizeLinear and DequantizeLinear, with their weights as integers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

import numpy as np

from ..dtypes import F32, from_numpy
from ..graph.ir import Array, Graph, Node, Value
from ..graph.names import Names, value_names
from ..graph.stored import Linear, Stored
from .encode import Parameters, choose_parameters, encode_bias, encode_int8, encode_scalars, least_scales
from .ranges import Range
from .units import SEVERAL, Unit, limits, result_of

Corrections = Mapping[str, Array]
"""Arrays that are added to the channels of biases, by the layer's name."""


@dataclass(frozen=True, slots=True)
class Scheme:
    """How values and weights are quantised: `ranges` of values, their element type, scales of weights for each channel,
    and their bits."""

    ranges: Mapping[Value, Range]
    activations: str
    per_channel: bool
    weight_bits: int
    corrections: Corrections = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Quantized:
    """A graph that computes with what the integers stand for, and how constants are `stored`. `results` are what
    became of the units' outputs; in a graph of isolated layers `sums` are those of the first operators alone."""

    graph: Graph
    stored: Mapping[Value, Stored]
    results: Mapping[Value, Value]
    sums: Mapping[Value, Value] = field(default_factory=dict)


def insert_quantization(
    graph: Graph, units: Sequence[Unit], scheme: Scheme, exact: Set[Value] = frozenset()
) -> Quantized:
    """The graph in which `units` compute with quantised data. Results in `exact` that none of them reads are left as
    they are.

        x -> Conv -> Relu -> y    ->    x -> QuantizeLinear -> DequantizeLinear -> Conv -> QuantizeLinear
                                          -> DequantizeLinear -> y

    Relu and Clip are left out where the range of their results says the same. Other nodes read what they read before,
    and of a unit's result what it stands for, so that memory holds it as integers alone.
    """
    writer = _Writer(graph, scheme, share_parameters(units, scheme))
    heads = {u.head: u for u in units}
    inside = {n for u in units for n in u.nodes}
    read = {v for u in units for v in u.data}
    results: dict[Value, Value] = {}
    for node in graph.nodes:
        unit = heads.get(node)
        if unit is not None:
            name = unit.output.name
            inner, outer = name, writer.fresh(f"{name}_dequantized")
            if unit.output in graph.outputs:
                inner, outer = writer.fresh(f"{name}_float"), name
            if unit.output in exact and unit.output not in read:
                _, results[unit.output] = writer.unit(unit, name, rounds=False)
                continue
            _, raw = writer.unit(unit, inner)
            results[unit.output] = writer.rounded[unit.output] = writer.round(raw, unit.output, outer)
        elif node not in inside:
            inputs = tuple(None if v is None else results.get(v, v) for v in node.inputs)
            writer.nodes.append(replace(node, inputs=inputs) if inputs != node.inputs else node)
    outputs = tuple(results.get(v, v) for v in graph.outputs)
    result = replace(graph, nodes=tuple(writer.nodes), outputs=outputs, constants=writer.constants)
    return Quantized(result, writer.stored, results)


def isolate_layers(graph: Graph, units: Sequence[Unit], scheme: Scheme) -> Quantized:
    """The graph of float32, and beside each layer the same quantised, which reads the values of float32."""
    writer = _Writer(graph, scheme, share_parameters(units, scheme))
    layers = {u.nodes[-1]: u for u in units if u.layer}
    results: dict[Value, Value] = {}
    sums: dict[Value, Value] = {}
    for node in graph.nodes:
        writer.nodes.append(node)
        if node in layers:
            unit = layers[node]
            name = unit.output.name
            sums[result_of(unit.head)], raw = writer.unit(unit, writer.fresh(f"{name}_float"), alone=False)
            results[unit.output] = writer.round(raw, unit.output, writer.fresh(f"{name}_dequantized"))
    result = replace(graph, nodes=tuple(writer.nodes), constants=writer.constants)
    return Quantized(result, writer.stored, results, sums)


def share_parameters(units: Sequence[Unit], scheme: Scheme) -> dict[Value, Parameters]:
    """Parameters of the data and results of units: values between which elements are only moved have the same."""
    leader: dict[Value, Value] = {}

    def find(v: Value) -> Value:
        while leader.get(v, v) is not v:
            v = leader[v]
        return v

    for u in units:
        for v in u.data:
            leader.setdefault(v, v)
        leader.setdefault(u.output, u.output)
        if u.moves:
            leader[find(u.output)] = find(u.data[0])
    ranges: dict[Value, Range] = {}
    for v in leader:
        first, own = find(v), scheme.ranges[v]
        ranges[first] = ranges[first] | own if first in ranges else own
    return {v: choose_parameters(ranges[find(v)].low, ranges[find(v)].high, scheme.activations) for v in leader}


class _Writer:
    """Adds nodes and constants to those of a graph."""

    def __init__(self, graph: Graph, scheme: Scheme, parameters: Mapping[Value, Parameters]) -> None:
        self._graph, self._scheme, self._parameters = graph, scheme, parameters
        self._names = value_names(graph)
        self._node_names = Names(n.name for n in graph.nodes)
        self._opset = max(n.opset for n in graph.nodes if not n.domain)
        self.rounded: dict[Value, Value] = {}
        self.nodes: list[Node] = []
        self.constants: dict[Value, Array] = dict(graph.constants)
        self.stored: dict[Value, Stored] = {}

    def fresh(self, name: str) -> str:
        """A name that no value has."""
        return self._names.fresh(name)

    def read(self, value: Value) -> Value:
        """The value that the quanta of `value` stand for."""
        if value not in self.rounded:
            self.rounded[value] = self.round(value, value, self.fresh(f"{value.name}_dequantized"))
        return self.rounded[value]

    def round(self, value: Value, source: Value, name: str) -> Value:
        """`value` quantised by the parameters of `source`, and dequantised again."""
        parameters = self._parameters[source]
        scale = self._constant(f"{source.name}_scale", np.array(parameters.scale))
        zero = self._constant(f"{source.name}_zero_point", np.array(parameters.zero, parameters.dtype))
        quantized = Value(self.fresh(f"{source.name}_quantized"), value.shape, zero.dtype)
        result = Value(name, value.shape, F32)
        self._node("QuantizeLinear", source.name, (value, scale, zero), quantized)
        self._node("DequantizeLinear", source.name, (quantized, scale, zero), result)
        return result

    def unit(self, unit: Unit, name: str, *, alone: bool = True, rounds: bool = True) -> tuple[Value, Value]:
        """The results of the first and of the last of the nodes that `unit` becomes; the last one has this name. Where
        they are not `alone`, its own nodes are in the graph, too; `rounds`: the result is quantised."""
        head, *others = unit.nodes
        parameters = self._parameters[unit.output]
        kept = [n for n in others if not (rounds and _is_in_range(limits(n, self._graph), parameters))]
        first = current = self._copy(
            self._layer(unit) if unit.layer else self._between(head), None if kept else name, alone=alone
        )
        before = result_of(head)
        for node in others:
            if node in kept:
                inputs = tuple(current if v is before else v for v in node.inputs)
                copied = replace(node, inputs=inputs)
                current = self._copy(copied, name if node is kept[-1] else None, alone=alone)
            before = result_of(node)
        return first, current

    def _copy(self, node: Node, name: str | None, *, alone: bool) -> Value:
        """The result of a copy of a node."""
        like = result_of(node)
        value = Value(name or self.fresh(f"{like.name}_sum"), like.shape, like.dtype)
        node_name = node.name if alone else self._node_names.fresh(node.name)
        self.nodes.append(replace(node, outputs=(value,), name=node_name))
        return value

    def _between(self, node: Node) -> Node:
        """A node between layers; of several operands constants are quantised."""
        inputs = list(node.inputs)
        for i, v in enumerate(inputs):
            if v is not None and v in self._parameters and v not in self._graph.constants:
                inputs[i] = self.read(v)
            elif v is not None and node.op in SEVERAL:
                data = self._graph.constants[v]
                low, high = float(data.min(initial=0)), float(data.max(initial=0))
                own = choose_parameters(low, high, self._scheme.activations)
                inputs[i] = self._keep(v, encode_scalars(data, own))
        return replace(node, inputs=tuple(inputs))

    def _layer(self, unit: Unit) -> Node:
        node, (data,) = unit.head, unit.data
        layer = layer_constants(node, self._graph)
        scale = float(self._parameters[data].scale)
        bias = layer.bias
        correction = self._scheme.corrections.get(node.name)
        if correction is not None:
            bias = correction if bias is None else bias + correction
        axis = layer.channels if self._scheme.per_channel else None
        least = None
        if bias is not None and bias.ndim == 1:
            least = least_scales(bias, scale)
            # Channels of the groups of a ConvTranspose have their scales in common.
            least = least.reshape(layer.repeats, -1).max(0) if axis is not None else least.max(initial=0)
        weights = encode_int8(layer.weights, axis, least, self._scheme.weight_bits)
        inputs: list[Value | None] = [self.read(data), self._keep(node.inputs[1], weights)]
        if bias is not None:
            name = node.inputs[2] if len(node.inputs) > 2 and node.inputs[2] is not None else f"{node.name}_bias"
            if bias.ndim == 1:
                scales = np.tile(weights.scale, layer.repeats) if axis is not None else weights.scale
                products = (np.float32(scale) * scales).astype(np.float32)
                inputs.append(self._keep(name, encode_bias(bias, products)))
            else:
                inputs.append(self._constant(name if isinstance(name, str) else name.name, bias.astype(np.float32)))
        attributes = {k: v for k, v in node.attributes.items() if node.op != "Gemm" or k not in ("alpha", "beta")}
        return replace(node, inputs=tuple(inputs), attributes=attributes)

    def _keep(self, like: Value | str | None, stored: Linear) -> Value:
        """A constant of what `stored` stands for."""
        assert like is not None
        value = self._constant(like if isinstance(like, str) else f"{like.name}_dequantized", stored.decoded)
        self.stored[value] = stored
        return value

    def _constant(self, name: str, data: Array) -> Value:
        value = Value(self.fresh(name), data.shape, from_numpy(data.dtype))
        self.constants[value] = data
        return value

    def _node(self, op: str, name: str, inputs: tuple[Value, ...], output: Value) -> None:
        self.nodes.append(Node(op, self._node_names.fresh(f"{name}_{op}"), inputs, (output,), {}, self._opset))


def _is_in_range(between: tuple[float, float] | None, parameters: Parameters) -> bool:
    """Whether what `parameters` represent lies between these limits, so that saturation sets them."""
    if between is None:
        return False
    tolerance = float(parameters.scale) / 1000
    return parameters.low >= between[0] - tolerance and parameters.high <= between[1] + tolerance


@dataclass(frozen=True, slots=True)
class LayerConstants:
    """The weights of a layer with their axis of `channels`, each `repeats` times a channel of the result, and the bias,
    with the factors of Gemm in them."""

    weights: Array
    channels: int
    repeats: int
    bias: Array | None


def layer_constants(node: Node, graph: Graph) -> LayerConstants:
    weights = graph.constants[_present(node.inputs[1])]
    value = node.inputs[2] if len(node.inputs) > 2 else None
    bias = None if value is None else graph.constants[value]
    repeats = 1
    match node.op:
        case "Conv":
            channels = 0
        case "ConvTranspose":
            channels, repeats = 1, _integer(node, "group", 1)
        case "Gemm":
            channels = 0 if _integer(node, "transB", 0) else 1
            weights = weights * _factor(node, "alpha")
            if bias is not None:
                bias = bias * _factor(node, "beta")
                count = weights.shape[channels]
                if bias.size in (1, count) and (bias.ndim < 2 or bias.shape[-1] == bias.size):
                    bias = np.broadcast_to(bias.reshape(-1), (count,))
        case _:
            channels = weights.ndim - 1
    return LayerConstants(weights, channels, repeats, bias)


def _present(value: Value | None) -> Value:
    assert value is not None
    return value


def _factor(node: Node, name: str) -> Array:
    value = node.attributes.get(name, 1.0)
    assert isinstance(value, float)
    return np.array(value, np.float32)


def _integer(node: Node, name: str, default: int) -> int:
    value = node.attributes.get(name, default)
    assert isinstance(value, int)
    return value
