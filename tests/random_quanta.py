"""Random ONNX graphs of quantised tensors: QuantizeLinear and DequantizeLinear around float operators, operators on
quanta, products of integers, and dynamic quantisation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import onnx
from layers_between_quantisers import between_quantisers
from layers_on_quanta import dynamic, of_integers, on_quanta
from onnx_models import Array, onnxruntime_results
from quantised_graph import (
    BYTES,
    CHANNELS,
    Quanta,
    QuantisedGraph,
    requantised,
)

OPSETS = (13, 17, 19, 21, 21)
BATCHES = 4
LARGEST_SUM = 1e8
"""Magnitude of sums of integers as floats, before they are scaled."""


FAMILIES: Mapping[str, tuple[Sequence[Callable[[QuantisedGraph], None]], int]] = {
    "QDQ": ([between_quantisers], 8),
    "QOperator": ([on_quanta], 6),
    "integer": ([of_integers], 1),
    "dynamic": ([dynamic], 3),
    "mixed": ([between_quantisers, on_quanta, of_integers, dynamic], 2),
}


def random_quanta(seed: int) -> QuantisedGraph:
    """One to four layers of one family, or of any, behind one input or two."""
    g = QuantisedGraph(seed, largest=LARGEST_SUM)
    r = g.draw
    g.opset = r.choice(OPSETS)
    (family,) = r.choices(list(FAMILIES), [weight for _, weight in FAMILIES.values()])
    layers, _ = FAMILIES[family]
    batch = r.choice([1, 1, 2, 3])
    while not g.nodes:
        for _ in range(r.choice([1, 1, 2])):
            rank = r.choice([2, 3, 4, 4, 4])
            most = {2: 2, 3: 24, 4: 10}[rank]
            channels = r.choice((*CHANNELS, 64, 131, 300)) if rank == 2 else r.choice(CHANNELS)
            shape = (batch, channels, *(r.randrange(2, most + 1) for _ in range(rank - 2)))
            if family in ("QOperator", "integer"):
                dtype = r.choice(BYTES)
                q = g.input(g.bytes(dtype, *shape))
                g.quanta.append(Quanta(q, g.scale(0.012), g.weight(g.zero_point(dtype), dtype)))
            else:
                x = g.input(g.normal(*shape))
                if family in ("QDQ", "mixed"):
                    requantised(g, x)
        for _ in range(r.choice([1, 2, 3, 4])):
            before = len(g.values) - len(g.parameters)
            for _ in range(8):
                if len(g.values) - len(g.parameters) == before:
                    r.choice(layers)(g)
    return g


def with_any_batch(proto: onnx.ModelProto, inputs: Mapping[str, Array]) -> onnx.ModelProto | None:
    """The model with a first dimension named N; None where onnxruntime does not run it with every one,
    or where a window then is longer than what it moves along, of which results are empty."""
    named = onnx.ModelProto()
    named.CopyFrom(proto)
    for value in named.graph.input:
        value.type.tensor_type.shape.dim[0].dim_param = "N"
    try:
        for n in range(1, BATCHES + 1):
            if not all(a.size for a in onnxruntime_results(named, of_batch(inputs, n)).values()):
                return None
    except Exception:  # onnxruntime's exceptions share no base class
        return None
    return named


def of_batch(inputs: Mapping[str, Array], n: int) -> dict[str, Array]:
    """Inputs with so many rows."""
    return {name: np.resize(a, (n, *a.shape[1:])) for name, a in inputs.items()}


def other_inputs(inputs: Mapping[str, Array], seed: int) -> dict[str, Array]:
    """Inputs of the same shapes, a little larger than those that the quantisers fit."""
    arrays = np.random.default_rng(seed)

    def other(a: Array) -> Array:
        if a.dtype.kind == "f":
            return (arrays.standard_normal(a.shape) * 0.6).astype(a.dtype)
        return arrays.permuted(a)

    return {name: other(a) for name, a in inputs.items()}
