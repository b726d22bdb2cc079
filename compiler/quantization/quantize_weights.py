"""Quantises the weights of layers, which compute in float32."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..dtypes import F32
from ..errors import InputError
from ..graph.ir import Array, Graph, Node, Value
from ..graph.names import Names, value_names
from ..graph.stored import Stored
from ..system.cache import Cache
from .encode import encode_weights
from .insert_quantization import Quantized
from .measure_layers import Errors, Sums, compare
from .result import Quantization, QuantizedLayer, QuantizedModel
from .run_graph import run_graph
from .samples import Sample
from .settings import WeightFormat
from .units import Unit, match_names, result_of

LEAST_WEIGHTS = 1024
"""Fewer are left as they are: they save nothing."""

LARGEST_ERROR = 0.25
"""Layers with larger errors of their own, relative to their results, stay in float32."""

_AXES = {"Conv": (1, 0), "ConvTranspose": (0, 1), "Gather": (1, 0), "Gemm": (0, 1), "MatMul": (-2, -1)}
"""By operator, of its weights the axis that is summed over and that of channels."""


@dataclass(frozen=True, slots=True)
class _Layer:
    """`node` reads `weights`, which are `stored` in place of their `elements`."""

    node: Node
    weights: Value
    elements: Array
    stored: Stored


def quantize_weights(
    graph: Graph, samples: Sequence[Sample], form: WeightFormat, keep: Sequence[str] = (), cache: Cache | None = None
) -> QuantizedModel:
    """`graph` with the weights of its layers, and tables that Gather reads, in fewer bits; errors are measured on
    `samples`. Without these, which only a processor's code can compute, a layer's error is that of its weights: the
    layer's own for operands whose elements are alike and do not correlate. Raises InputError where there are no layers.
    """
    layers = list(_layers(graph, form))
    if not layers:
        raise InputError(
            f"the model has no {', '.join(_AXES)} with {LEAST_WEIGHTS} or more constant weights of float32: leave "
            "--weights out; weights that are quantised already stay as they are"
        )
    kept = {x.node.name: "its weights are in fewer bits already" for x in layers if x.weights in graph.folded}
    kept |= {x.node.name: "its weights are NaN or infinite" for x in layers if not np.isfinite(x.elements).all()}
    others = [x for x in layers if x.node.name not in kept]
    kept |= dict.fromkeys(match_names(keep, [x.node.name for x in layers]), "--keep")
    own = {
        **dict.fromkeys(kept, 0.0),
        **(_own_errors(graph, others, samples, cache) if samples else _errors_of(others)),
    }
    kept |= {
        n: f"its error is above {LARGEST_ERROR:.0%}" for n, e in own.items() if not e <= LARGEST_ERROR and n not in kept
    }
    model = _replaced(graph, [x for x in layers if x.node.name not in kept])
    in_model: Errors = {}
    outputs: Errors = {}
    if samples:
        units = [Unit((x.node,), (), layer=True, moves=False) for x in layers if x.node.name not in kept]
        comparison = compare(graph, model, units, samples, cache)
        in_model, outputs = comparison.layers, comparison.outputs
    rows = []
    for x in layers:
        name, before = x.node.name, _bytes(graph, x.weights)
        why = kept.get(name, "")
        rows.append(
            QuantizedLayer(
                name,
                x.node.op,
                "float32" if why else str(form),
                own[name],
                in_model.get(name),
                (before, before if why else x.stored.bytes),
                why,
            )
        )
    return QuantizedModel(
        model.graph, model.stored, Quantization(f"{form} weights", tuple(rows), outputs, len(samples))
    )


def _bytes(graph: Graph, value: Value) -> int:
    """The bytes of the file that a constant takes."""
    node = graph.folded.get(value)
    return graph.constants[value].nbytes if node is None else sum(_bytes(graph, v) for v in node.reads)


def _layers(graph: Graph, form: WeightFormat) -> Iterator[_Layer]:
    stored: dict[tuple[Value, int, int], Stored] = {}
    for node in graph.nodes:
        if node.op not in _AXES:
            continue
        index = 0 if node.op == "Gather" else 1
        value = node.inputs[index]
        data = graph.constants.get(value) if value is not None else None
        if value is None or data is None or value.dtype != F32 or data.ndim < 2 or data.size < LEAST_WEIGHTS:
            continue
        if node.op == "Gather" and (node.attributes.get("axis", 0) or data.ndim != 2):
            continue
        summed, channels = _AXES[node.op]
        if node.op == "Gemm" and node.attributes.get("transB", 0):
            summed, channels = channels, summed
        key = value, summed % data.ndim, channels % data.ndim
        if key not in stored:
            with np.errstate(all="ignore"):  # of weights that are no numbers, which stay
                stored[key] = encode_weights(data, form, *key[1:])
        yield _Layer(node, value, data, stored[key])


def _replaced(graph: Graph, layers: Sequence[_Layer]) -> Quantized:
    """The graph in which these layers read what their weights stand for."""
    names = value_names(graph)
    constants, stored = dict(graph.constants), dict[Value, Stored]()
    values: dict[Stored, Value] = {}
    changed: dict[Node, Node] = {}
    for x in layers:
        if x.stored not in values:
            value = Value(names.fresh(f"{x.weights.name}_dequantized"), x.weights.shape, F32)
            values[x.stored] = value
            constants[value], stored[value] = x.stored.decoded, x.stored
        changed[x.node] = _reading(x, values[x.stored])
    nodes = tuple(changed.get(n, n) for n in graph.nodes)
    result = replace(graph, nodes=nodes, constants=constants)
    results = {v: v for n in graph.nodes for v in n.outputs if v is not None}
    return Quantized(result, stored, results)


def _reading(layer: _Layer, value: Value) -> Node:
    return replace(layer.node, inputs=tuple(value if v is layer.weights else v for v in layer.node.inputs))


def _errors_of(layers: Sequence[_Layer]) -> dict[str, float]:
    sums = Sums()
    for x in layers:
        sums.add(x.node.name, x.elements, x.stored.decoded)
    return dict(sums.errors)


def _own_errors(
    graph: Graph, layers: Sequence[_Layer], samples: Sequence[Sample], cache: Cache | None
) -> dict[str, float]:
    """The error of each layer where it alone is quantised."""
    names, node_names = value_names(graph), Names(n.name for n in graph.nodes)
    constants: dict[Value, Array] = dict(graph.constants)
    copies: dict[Node, Node] = {}
    for x in layers:
        weights = Value(names.fresh(f"{x.weights.name}_dequantized"), x.weights.shape, F32)
        constants[weights] = x.stored.decoded
        like = result_of(x.node)
        output = Value(names.fresh(f"{like.name}_alone"), like.shape, like.dtype)
        copies[x.node] = replace(_reading(x, weights), name=node_names.fresh(x.node.name), outputs=(output,))
    nodes = [n for node in graph.nodes for n in ((node, copies[node]) if node in copies else (node,))]
    both = replace(graph, nodes=tuple(nodes), constants=constants)
    pairs = {node.name: (result_of(node), result_of(copy)) for node, copy in copies.items()}
    sums = Sums()
    for arrays in run_graph(both, [v for pair in pairs.values() for v in pair], samples, cache):
        for name, (exact, alone) in pairs.items():
            sums.add(name, arrays[exact], arrays[alone])
    return dict(sums.errors)
