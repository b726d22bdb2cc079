"""Runs values of a graph on this machine's processor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..costs import CPU_COSTS
from ..cpu.compile_for_cpu import compile_for_cpu
from ..graph.eliminate_dead_code import eliminate_dead_code
from ..graph.ir import Array, Graph, Value
from ..pipeline.lower_model import lower_model
from ..system.cache import Cache
from ..tensor.choose_tile import choose_tile
from .samples import Sample

if TYPE_CHECKING:
    from ..execution.native_model import NativeModel


def run_graph(
    graph: Graph, values: Iterable[Value], samples: Sequence[Sample], cache: Cache | None
) -> Iterator[Mapping[Value, Array]]:
    """The elements of `values` for each of the samples."""
    kept = tuple(dict.fromkeys(values))
    given = [v for v in kept if v in graph.inputs]
    computed = [v for v in kept if v not in graph.inputs]
    model = _compile(replace(graph, outputs=tuple(computed), refusals=()), cache) if computed else None
    for sample in samples:
        results = model.run(sample.inputs) if model is not None else {}
        yield {**{v: sample.inputs[v.name] for v in given}, **{v: results[v.name] for v in computed}}


def _compile(graph: Graph, cache: Cache | None) -> NativeModel:
    from ..execution.native_model import NativeModel  # a page has neither: weights are quantised there, too
    from ..native.jit import host_target

    lowered = lower_model(eliminate_dead_code(graph), choose=choose_tile(CPU_COSTS))
    return NativeModel(compile_for_cpu(lowered, host_target(), cache=cache), cache=cache)
