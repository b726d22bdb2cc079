"""The results of a build as data, for the table of the command line and for `--report`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..bundle import WrittenFile
from ..graph.ir import Graph
from ..pipeline.lowered import Lowered
from ..pipeline.plan_kernels import KernelPlan
from ..program.dimensions import Dimension
from ..program.program import Program, TensorSpec
from ..program.refusals import Refusal
from ..records.record_use import RecordUse
from ..system.cache import Cache
from ..target import Target
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
    in place of outputs; `weights` is the bytes of the bundle's constants, `weight_types` by the type of their elements,
    `memory` those of the wasm module, `peaks` by target those in a page while it loads; `recorded` has by target the
    use of its records, `unused` other targets of records, `damaged` counts lines that are no records; `uncompared` has
    by backend the reason why halves were not compared with the reference; `alone` is what was written in place of a
    bundle, `cpu` the processor that it is for, `manual` the file that says how it is used. For the page alone, which
    `--report` may write, `graphs` are the model as imported and as optimised, `lowered` has it by target."""

    model: str
    precision: str
    cache: Cache
    seconds: dict[str, float]
    operators: Counter[str] = field(default_factory=Counter)
    graph_nodes: int = 0
    inputs: tuple[TensorSpec, ...] = ()
    outputs: tuple[TensorSpec, ...] = ()
    answers: Mapping[str, str] = field(default_factory=dict)
    text: str = ""
    dimensions: tuple[Dimension, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    weights: int = 0
    weight_types: Mapping[str, int] = field(default_factory=dict)
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
    cpu: str = ""
    manual: str = ""
    files: list[WrittenFile] = field(default_factory=list)
    graphs: tuple[Graph, Graph] | None = None
    lowered: dict[str, Lowered] = field(default_factory=dict)

    @property
    def devices(self) -> list[DeviceBuild]:
        """The parts for GPUs."""
        return [p for p in self.parts if isinstance(p, DeviceBuild)]

    @property
    def wasm(self) -> WasmBuild | None:
        """The part for processors, if there is one."""
        return next((p for p in self.parts if isinstance(p, WasmBuild)), None)
