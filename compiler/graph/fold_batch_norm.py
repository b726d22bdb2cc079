"""Folds what scales and shifts channels into the convolution or matrix product before it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .ir import Array, Attribute, Graph, Node, Value
from .names import value_names

_CHANNEL_AXIS = {"Conv": 1, "ConvTranspose": 1, "Gemm": -1, "MatMul": -1}
_CHANNEL_AXIS |= {"DequantizedConv": 1, "DequantizedConvTranspose": 1, "DequantizedMatMul": -1}

_PARAMETERS = dict.fromkeys(("DequantizedConv", "DequantizedConvTranspose", "DequantizedMatMul"), (4, 5))
"""The inputs that scale results and shift them: of other operators, weights and bias."""


@dataclass(frozen=True, slots=True)
class _Affine:
    """x * scale + shift, each float64 of one element per channel."""

    scale: Array
    shift: Array


@dataclass(frozen=True, slots=True)
class _Folded:
    """Replacements for a node's weights or factor, its bias (None for none), and its attributes."""

    weights: Array
    bias: Array | None
    attributes: dict[str, Attribute]


def fold_batch_norm(graph: Graph) -> Graph:
    """BatchNormalization, and Add, Sub, Mul, Div by a constant per channel, become part of the weights and bias of the
    Conv, ConvTranspose, Gemm or MatMul that feeds nothing else. Computed in float64, then rounded.

    A MatMul has no bias: only the scale is folded, and the shift remains as an Add. Products of quanta have a factor of
    their sums, which takes the scale.
    """
    constants = dict(graph.constants)
    names = value_names(graph)
    readers = graph.consumers()
    nodes: list[Node] = []
    place: dict[Value, int] = {}  # of the nodes that may take something in, by their output

    def constant(stem: str, data: Array, like: Value) -> Value:
        value = Value(names.fresh(stem), data.shape, like.dtype)
        constants[value] = data.astype(like.dtype.numpy)
        return value

    for node in graph.nodes:
        source, target = _source(node, constants), node.outputs[0]
        producer = nodes[place[source]] if source in place else None
        if source is None or target is None or producer is None or len(readers[source]) != 1 or source in graph.results:
            if node.op in _CHANNEL_AXIS and target is not None and target.shape:
                place[target] = len(nodes)
            nodes.append(node)
            continue
        affine = _affine(node, source, _CHANNEL_AXIS[producer.op] % len(source.shape), constants)
        folded = None if affine is None else _fold(producer, affine, constants)
        if affine is None or folded is None:
            nodes.append(node)
            continue
        scaled, _ = _PARAMETERS.get(producer.op, (1, 2))
        inputs = [*producer.inputs[:scaled], constant(f"{producer.name}.weights", folded.weights, source)]
        if folded.bias is not None:
            inputs.append(constant(f"{producer.name}.bias", folded.bias, source))
        split = producer.op == "MatMul" and affine.shift.any()
        index = place.pop(source)
        output = source if split else target
        nodes[index] = replace(producer, inputs=tuple(inputs), outputs=(output,), attributes=folded.attributes)
        if split:
            shift = constant(f"{node.name}.shift", affine.shift, source)
            nodes.append(Node("Add", node.name, (source, shift), (target,), {}, node.opset))
        else:
            place[target] = index
    if len(constants) == len(graph.constants):
        return graph
    return replace(graph, nodes=tuple(nodes), constants=constants)


def _source(node: Node, constants: dict[Value, Array]) -> Value | None:
    """The one input of a possible affine node that is no constant."""
    if node.op == "BatchNormalization":
        return node.inputs[0] if all(v in constants for v in node.inputs[1:]) else None
    if node.op in ("Add", "Sub", "Mul", "Div"):
        left, right = node.inputs
        if right in constants:
            return left
        return right if left in constants and node.op != "Div" else None
    return None


def _affine(node: Node, source: Value, axis: int, constants: dict[Value, Array]) -> _Affine | None:
    """`node` as a scale and shift of the channels of `source`, which are along `axis`; None where it is something else.

    BatchNormalization of opset 7 and 8 may normalise each position on its own (spatial=0), which is none.
    """
    channels = source.shape[axis]
    if not isinstance(channels, int):
        return None
    if node.op == "BatchNormalization":
        parameters = [constants[v].astype(np.float64) for v in node.inputs[1:] if v is not None]
        training = node.attributes.get("training_mode", 0)
        if axis != 1 or training or len(node.outputs) > 1 or any(p.shape != (channels,) for p in parameters):
            return None
        gamma, beta, mean, variance = parameters
        epsilon = node.attributes.get("epsilon", 1e-5)
        assert isinstance(epsilon, float)
        scale = gamma / np.sqrt(variance + epsilon)
        return _Affine(scale, beta - mean * scale)
    operand = next(v for v in node.inputs if v is not source and v is not None)
    if len(operand.shape) > len(source.shape) or not source.dtype.is_float:
        return None
    shape = (1,) * (len(source.shape) - len(operand.shape)) + operand.shape
    if any(extent != 1 for d, extent in enumerate(shape) if d != axis) or shape[axis] not in (1, channels):
        return None
    value = np.broadcast_to(constants[operand].astype(np.float64).reshape(-1), (channels,))
    one, zero = np.ones(channels), np.zeros(channels)
    match node.op:
        case "Add":
            return _Affine(one, value)
        case "Sub":
            return _Affine(one, -value) if node.inputs[0] is source else _Affine(-one, value)
        case "Mul":
            return _Affine(value, zero)
    return None if (value == 0).any() else _Affine(1 / value, zero)


def _fold(node: Node, affine: _Affine, constants: dict[Value, Array]) -> _Folded | None:
    """`node` with its result scaled and shifted; None where its weights or bias are not known, or would overflow."""
    scaled, shifted = _PARAMETERS.get(node.op, (1, 2))
    bias_value = node.inputs[shifted] if len(node.inputs) > shifted else None
    value = node.inputs[scaled]
    if value is None or value not in constants or (bias_value is not None and bias_value not in constants):
        return None
    scale, shift = affine.scale, affine.shift
    stored = constants[value]
    weights = stored.astype(np.float64)
    bias = None if bias_value is None else constants[bias_value].astype(np.float64)
    attributes = dict(node.attributes)
    match node.op:
        case "Conv":
            weights = weights * scale.reshape(-1, *(1 for _ in weights.shape[1:]))
        case "ConvTranspose":
            # Weights are (IC, OC/group, taps), and input channels are stored group by group.
            group = attributes.get("group", 1)
            assert isinstance(group, int)
            depth, filters, *taps = weights.shape
            grouped = weights.reshape(group, depth // group, filters, *taps)
            weights = (grouped * scale.reshape(group, 1, filters, *(1 for _ in taps))).reshape(weights.shape)
        case "Gemm":
            weights = weights * (scale[:, None] if attributes.get("transB", 0) else scale)
            beta = attributes.pop("beta", 1.0)
            assert isinstance(beta, float)
            bias = None if bias is None else bias * beta
        case op if op in _PARAMETERS:
            weights = weights * (scale[0] if (scale == scale[0]).all() else scale)
        case "MatMul":
            if weights.ndim < 2 or (scale == 1).all():
                return None
            weights = weights * scale
    if bias is not None or (shift.any() and node.op != "MatMul"):
        bias = shift + (0 if bias is None else bias * scale)
    with np.errstate(over="ignore"):
        if not all(np.isfinite(data.astype(stored.dtype)).all() for data in (weights, bias) if data is not None):
            return None
    return _Folded(weights, bias, attributes)
