"""How many schedules the choices of a model's kernels make, estimated by random probes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from random import Random
from statistics import median
from typing import Any

from webnn_compile.choices import DEFAULT, Choices, Record
from webnn_compile.costs import CPU_COSTS
from webnn_compile.errors import CannotExpress, ScheduleError
from webnn_compile.glsl.backend import WebGl
from webnn_compile.gpu.compile_for_device import compile_for_device
from webnn_compile.gpu.lower_for_device import choice_for
from webnn_compile.gpu.plan_for_device import plan_for_device
from webnn_compile.ir.nodes import Kernel
from webnn_compile.pipeline.lazy_kernels import describe
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.pipeline.weights import Weights
from webnn_compile.schedule.schedule_cpu import schedule_cpu
from webnn_compile.system.recursion import deep_recursion
from webnn_compile.target import WASM_RELAXED
from webnn_compile.tensor.choose_tile import choose_tile
from webnn_compile.tensor.layer_choices import by_name
from webnn_compile.wgsl.backend import WebGpu

from .cases import Case
from .tables import Grid

BACKENDS = {"webgpu": WebGpu(), "webgl": WebGl()}
TARGETS = ("wasm", *BACKENDS)

Probe = Callable[[Choices], object]
"""Schedules a kernel."""


@dataclass(frozen=True, slots=True)
class Space:
    """The search space of one model on one target: `layers` is the number of combinations of the choices that are made
    before kernels exist, `kernels` the sizes of the spaces of its different kernels. `names` are those of all
    decisions, and `illegal` the share of probes whose choices did not fit together."""

    model: str
    target: str
    layers: float
    kernels: tuple[float, ...]
    names: frozenset[str]
    illegal: float


def measure_spaces(case: Case, targets: Sequence[str], probes: int, seed: int = 1) -> list[Space]:
    """The spaces on each of `targets`, by so many `probes` of each kernel."""
    with deep_recursion():
        return [_space(case, target, probes, Random(seed)) for target in targets]


def _space(case: Case, target: str, probes: int, random: Random) -> Space:
    layers = Record(Random(0))
    kernels = _on_cpu(case) if target == "wasm" else _on_device(case, target)
    _lower(case, target, layers)
    sizes, names, illegal = [], {n.rpartition(".")[2] for n in layers.decisions}, 0
    for probe in kernels.values():
        size, decisions, failed = estimate(probe, probes, random)
        sizes.append(size)
        names |= decisions
        illegal += failed
    choices = prod(float(len(d.options)) for d in layers.decisions.values())
    return Space(case.name, target, choices, tuple(sizes), frozenset(names), illegal / (probes * max(1, len(kernels))))


def estimate(probe: Probe, probes: int, random: Random) -> tuple[float, set[str], int]:
    """The number of leaves of a kernel's tree of decisions, the names of these, and how many probes were not legal.

    Each probe takes options at random; the product of their numbers is an unbiased estimate (Knuth, "Estimating the
    efficiency of backtrack programs", 1975). Illegal ones count as no leaf.
    """
    total, names, illegal = 0.0, set[str](), 0
    for _ in range(probes):
        record = Record(random)
        try:
            probe(record)
            total += prod(float(len(d.options)) for d in record.decisions.values())
        except ScheduleError:
            illegal += 1
        names |= {name.rpartition(".")[2] for name in record.decisions}
    return max(1.0, total / probes), names, illegal


def _lower(case: Case, target: str, choices: Choices) -> Any:
    if target == "wasm":
        return lower_model(case.graph(), choose=choose_tile(CPU_COSTS), choices=by_name(choices))
    backend = BACKENDS[target]
    return lower_model(case.graph(), policy=backend.layouts, choose=choice_for(backend), choices=by_name(choices))


def _on_cpu(case: Case) -> dict[str, Probe]:
    def probe(naive: Kernel) -> Probe:
        return lambda choices: schedule_cpu(naive, WASM_RELAXED, choices)

    return {describe(k): probe(k) for k in _lower(case, "wasm", DEFAULT).kernels}


def _on_device(case: Case, target: str) -> dict[str, Probe]:
    """Kernels as the backend is given them."""
    backend = BACKENDS[target]
    probes: dict[str, Probe] = {}

    class Recorder:
        def __getattr__(self, name: str) -> Any:
            return getattr(backend, name)

        def compile_kernel(self, naive: Kernel, placements: Any, _: Choices = DEFAULT) -> Any:
            compiled = backend.compile_kernel(naive, placements)
            probes[describe(naive) + str(placements)] = lambda choices: _compile(naive, placements, choices)
            return compiled

    def _compile(naive: Kernel, placements: Any, choices: Choices) -> object:
        try:
            return backend.compile_kernel(naive, placements, choices)
        except CannotExpress as reason:
            raise ScheduleError(str(reason)) from reason

    lowered = _lower(case, target, DEFAULT)
    compile_for_device(lowered, plan_for_device(lowered, Recorder(), Weights()))
    return probes


def space_grid(spaces: Sequence[Space]) -> Grid:
    """One row for each model and target."""
    head = ("model", "target", "kernels", "choices of layers", "median kernel", "largest kernel", "illegal")
    rows = [
        (
            s.model,
            s.target,
            str(len(s.kernels)),
            f"{s.layers:.0e}",
            f"{median(s.kernels):,.0f}",
            f"{max(s.kernels):,.0f}",
            f"{s.illegal:.1%}",
        )
        for s in spaces
    ]
    return Grid("Schedules that choices make, estimated", head, tuple(rows), 2)


def names_by_target(spaces: Sequence[Space]) -> Mapping[str, list[str]]:
    """The names of all decisions that were met."""
    by_target: dict[str, set[str]] = {}
    for s in spaces:
        by_target.setdefault(s.target, set()).update(s.names)
    return {target: sorted(names) for target, names in by_target.items()}
