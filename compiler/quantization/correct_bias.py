"""Corrects biases by the mean error of each channel (Nagel et al., Data-Free Quantization)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..graph.ir import Graph
from ..system.cache import Cache
from .insert_quantization import Corrections, Scheme
from .measure_layers import Errors, mean_differences, measure_own_errors
from .samples import Sample
from .units import Unit

_WITH_BIAS = ("Conv", "ConvTranspose", "Gemm")


def correct_bias(
    graph: Graph, units: Sequence[Unit], scheme: Scheme, samples: Sequence[Sample], own: Errors, cache: Cache | None
) -> Corrections:
    """The corrections that reduce the errors of their layers, which are `own` without any.

    Where there are several samples, the means are those of every other one, and errors are compared on the rest.
    """
    layers = [u for u in units if u.layer and u.head.op in _WITH_BIAS]
    learnt, held = (samples[::2], samples[1::2]) if len(samples) > 1 else (samples, samples)
    corrections = mean_differences(graph, layers, scheme, learnt, cache)
    before = own if held is samples else measure_own_errors(graph, layers, scheme, held, cache)
    after = measure_own_errors(graph, layers, replace(scheme, corrections=corrections), held, cache)
    return {name: c for name, c in corrections.items() if after[name] < before[name]}
