"""The results of a build as data, for the table of the command line and for `--report`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING

from ..bundle import Others, WrittenFile
from ..generation.ports import SAMPLING
from ..graph.ir import Graph
from ..graph.keep_states import usual_states
from ..pipeline.lowered import Lowered
from ..pipeline.plan_kernels import KernelPlan
from ..program.dimensions import Dimension
from ..program.program import Program, TensorSpec
from ..program.refusals import Refusal
from ..program.states import State
from ..records.record_use import RecordUse
from ..system.cache import Cache
from ..system.put_files import OutputFile
from ..target import Target
from ..text.size import size
from .build_device import DeviceBuild
from .build_wasm import WasmBuild
from .bundle_part import BundlePart
from .verify import Comparison

if TYPE_CHECKING:
    from ..quantization.result import Quantization
    from .measure_layer import LayerError
    from .write_alone import Writer


@dataclass(frozen=True, slots=True)
class Alone:
    """The program that a target has in place of a part of a bundle, whose kernels are for `facts`."""

    target: str
    program: Program
    plan: KernelPlan
    facts: Target
    writer: Writer


@dataclass(slots=True)
class Report:
    """`operators` counts the model's nodes by operator, `seconds` are by phase; `answers` says by name what runs return
    in place of outputs, `answered` are the outputs in whose place, and `filled` has what fills an input in place of an
    array; `states` are what outlives a run, `kept` the pairs of names, `made` the inputs that the model makes of them,
    and `generation` says how it gives tokens, if it does; `weights` is the bytes of the bundle's constants,
    `weight_types` by the type of their elements, `lossless` of those that are float16 without loss, `memory` those of
    the wasm module, `peaks` by target those in a page while it loads; `recorded` has by target the use of its records,
    `unused` other targets of records, `damaged` counts lines that are no records; `uncompared` has by backend the
    reason why halves were not compared with the reference; `alone` is what was written in place of a bundle,
    `public_key` that of the signature, `cpu` the processor that it is for, `manual` the file that says how it is used.
    With `single_file` the page and the script each have all of the model; `saved` are files that are written with
    those of the build. For the page alone, which `--report` may
    write, `graphs` are the model as imported and as optimised, `lowered` has it by target."""

    model: str
    precision: str
    cache: Cache
    seconds: dict[str, float]
    operators: Counter[str] = field(default_factory=Counter)
    graph_nodes: int = 0
    inputs: tuple[TensorSpec, ...] = ()
    outputs: tuple[TensorSpec, ...] = ()
    states: tuple[TensorSpec, ...] = ()
    kept: tuple[State, ...] = ()
    made: tuple[str, ...] = ()
    answers: Mapping[str, str] = field(default_factory=dict)
    answered: frozenset[str] = frozenset()
    filled: Mapping[str, str] = field(default_factory=dict)
    text: str = ""
    generation: str = ""
    dimensions: tuple[Dimension, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    weights: int = 0
    weight_types: Mapping[str, int] = field(default_factory=dict)
    lossless: int = 0
    memory: int = 0
    peaks: dict[str, int] = field(default_factory=dict)
    parts: list[BundlePart] = field(default_factory=list)
    recorded: dict[str, RecordUse] = field(default_factory=dict)
    unused: list[str] = field(default_factory=list)
    damaged: int = 0
    comparisons: list[Comparison] = field(default_factory=list)
    references: Mapping[str, str] = field(default_factory=dict)
    uncompared: dict[str, str] = field(default_factory=dict)
    layers: list[LayerError] = field(default_factory=list)
    quantization: Quantization | None = None
    alone: Alone | None = None
    public_key: str = ""
    single_file: bool = False
    cpu: str = ""
    manual: str = ""
    files: list[WrittenFile] = field(default_factory=list)
    saved: list[OutputFile] = field(default_factory=list)
    graphs: tuple[Graph, Graph] | None = None
    lowered: dict[str, Lowered] = field(default_factory=dict)

    @property
    def devices(self) -> list[DeviceBuild]:
        """The parts for GPUs."""
        return [p for p in self.parts if isinstance(p, DeviceBuild)]

    @property
    def own_inputs(self) -> tuple[TensorSpec, ...]:
        """The inputs but for those that the options of `generate` fill."""
        return tuple(spec for spec in self.inputs if not self.generation or spec.name not in SAMPLING)

    @property
    def wasm(self) -> WasmBuild | None:
        """The part for processors, if there is one."""
        return next((p for p in self.parts if isinstance(p, WasmBuild)), None)


def describe_ports(report: Report) -> Iterator[tuple[str, list[str]]]:
    """Inputs, each with what a run takes for it, and outputs that a run gives as arrays, unless all are answers."""
    yield "input", [f"{t.name}: {report.filled.get(t.name) or _array(t)}" for t in report.own_inputs]
    outputs = [f"{t.name}: {_array(t)}" for t in report.outputs if t.name not in report.answered]
    if outputs or not report.answers:
        yield "output", outputs


def describe_sizes(report: Report) -> str:
    """The sizes that a run decides, but for those of pictures and sounds, of which inputs say what they may be."""
    own = {n for t in report.inputs if t.name in report.filled for n in t.shown}
    return "; ".join(f"{d.name}: {d.span}" for d in report.dimensions if d.after is None and d.name not in own)


def _array(spec: TensorSpec) -> str:
    return f"{spec.dtype}[{'x'.join(map(str, spec.shown))}]"


def count_operators(report: Report) -> str:
    """The number of operators, and at which stage."""
    more = ", those of pictures, sounds and answers among them" if report.filled or report.answers else ""
    return f"{report.operators.total()} as imported{more}"


_SHOWN = 6
"""So many states are listed by name."""


def describe_states(report: Report) -> str:
    """Names of the states, the bytes of a session's, the lengths that they may have before a run, and the inputs that
    follow from them."""
    programs = [device.program for device in report.devices]
    halved = [f"{size(p.state_bytes)} on {p.backend}" for p in programs if p.halves_states]
    held = ", ".join([size(sum(t.bytes for t in report.states)), *halved])
    kept = [d for d in report.dimensions if d.after is not None and d.dropped_of is None]
    lengths = [f"{d.name} {d.least}..{d.most}{', of which the newest stay' if d.window else ''}" for d in kept]
    made = [f"made by the model: {', '.join(report.made)}"] if report.made else []
    return "; ".join([", ".join([f"{len(report.kept)} ({_pairs(report.kept)}): {held}", *lengths]), *made])


def describe_usual(inputs: Sequence[str], outputs: Sequence[str]) -> str:
    """The states that a model with these inputs and outputs has by their names; empty for none."""
    return _pairs(usual_states(inputs, outputs))


def _pairs(states: Sequence[State]) -> str:
    """The states, those whose names end alike as one with a wildcard."""
    alike: dict[str, list[State]] = {}
    for s in states:
        common = sum(1 for _ in takewhile(lambda ab: ab[0] == ab[1], zip(s.before[::-1], s.after[::-1], strict=False)))
        end = re.search(r"[^A-Za-z0-9](.+)", s.before[len(s.before) - common :])
        pattern = str(s) if end is None else "=".join(f"{name[: -len(end[1])]}*" for name in (s.before, s.after))
        alike.setdefault(pattern, []).append(s)
    shown = [pattern if len(own) > 1 else str(own[0]) for pattern, own in alike.items()]
    return ", ".join(shown[:_SHOWN] + ([f"{len(shown) - _SHOWN} more"] if len(shown) > _SHOWN else []))


Reported = Callable[[Report], Sequence[OutputFile]]
"""The files that are written of a report, with those of the build."""


def with_files(report: Report, reported: Reported) -> Others:
    """Makes the files that are `reported`, once the report lists those of the build, besides those that it has."""

    def others(files: list[WrittenFile]) -> Sequence[OutputFile]:
        report.files = files
        return [*report.saved, *reported(report)]

    return others
