"""Errors of layers, in float32 and quantised, on calibration data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..graph.ir import Array, Graph
from ..system.cache import Cache
from .insert_quantization import Quantized, Scheme, isolate_layers
from .run_graph import run_graph
from .samples import Sample
from .units import Unit, result_of

Errors = Mapping[str, float]
"""By layer the root mean square of its result's error, over that of the result in float32."""


class Sums:
    """Squares of errors and of what they are errors of, by name."""

    def __init__(self) -> None:
        self._error: dict[str, float] = {}
        self._size: dict[str, float] = {}

    def add(self, name: str, exact: Array, value: Array) -> None:
        exact = exact.astype(np.float64)
        with np.errstate(invalid="ignore"):  # of infinities
            difference = value.astype(np.float64) - exact
        self._error[name] = self._error.get(name, 0.0) + float(np.vdot(difference, difference))
        self._size[name] = self._size.get(name, 0.0) + float(np.vdot(exact, exact))

    @property
    def errors(self) -> Errors:
        """0 where there is no error, of zeros too."""
        return {n: (e / max(self._size[n], 1e-300)) ** 0.5 if e else 0.0 for n, e in self._error.items()}


def measure_own_errors(
    graph: Graph, units: Sequence[Unit], scheme: Scheme, samples: Sequence[Sample], cache: Cache | None
) -> Errors:
    """The errors of layers that each alone is quantised: with its operand, weights and result."""
    isolated, sums = isolate_layers(graph, units, scheme), Sums()
    values = [v for pair in isolated.results.items() for v in pair]
    for arrays in run_graph(isolated.graph, values, samples, cache):
        for u in units:
            if u.layer:
                sums.add(u.name, arrays[u.output], arrays[isolated.results[u.output]])
    return sums.errors


@dataclass(frozen=True, slots=True)
class Comparison:
    """The errors of layers in a quantised model, where they read what others rounded, and those of its `outputs`.
    `exact` and `rounded` are for each sample the first output in float32 and quantised."""

    layers: Errors
    outputs: Errors
    exact: Sequence[Array]
    rounded: Sequence[Array]


def compare(
    graph: Graph, quantized: Quantized, units: Sequence[Unit], samples: Sequence[Sample], cache: Cache | None
) -> Comparison:
    """Runs both models."""
    layers = {u.name: (u.output, quantized.results[u.output]) for u in units if u.layer}
    ports = {a.name: (a, b) for a, b in zip(graph.outputs, quantized.graph.outputs, strict=True) if a.dtype.is_float}
    layer_sums, output_sums = Sums(), Sums()
    pairs = [*layers.values(), *ports.values()]
    firsts = graph.outputs[0], quantized.graph.outputs[0]
    exact = run_graph(graph, (firsts[0], *(a for a, _ in pairs)), samples, cache)
    rounded = run_graph(quantized.graph, (firsts[1], *(b for _, b in pairs)), samples, cache)
    results: tuple[list[Array], list[Array]] = [], []
    for one, other in zip(exact, rounded, strict=True):
        results[0].append(one[firsts[0]])
        results[1].append(other[firsts[1]])
        for sums, named in ((layer_sums, layers), (output_sums, ports)):
            for name, (a, b) in named.items():
                sums.add(name, one[a], other[b])
    return Comparison(layer_sums.errors, output_sums.errors, *results)


def mean_differences(
    graph: Graph, units: Sequence[Unit], scheme: Scheme, samples: Sequence[Sample], cache: Cache | None
) -> dict[str, Array]:
    """By layer the mean of what each channel of its first operator's result lacks when it alone is quantised."""
    isolated = isolate_layers(graph, units, scheme)
    heads = {u.name: result_of(u.head) for u in units if u.layer}
    channels = {u.name: 1 if u.head.op.startswith("Conv") else -1 for u in units if u.layer}
    totals: dict[str, Array] = {}
    for arrays in run_graph(isolated.graph, [v for pair in isolated.sums.items() for v in pair], samples, cache):
        for name, value in heads.items():
            difference = arrays[value].astype(np.float64) - arrays[isolated.sums[value]]
            rows = np.moveaxis(difference, channels[name], 0).reshape(difference.shape[channels[name]], -1)
            totals[name] = totals.get(name, 0.0) + rows.mean(1)
    return {name: total / len(samples) for name, total in totals.items()}
