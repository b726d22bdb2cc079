"""The results of a build as data, for the table of the command line and for `--report`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..bundle import WrittenFile
from ..program.dimensions import Dimension
from ..program.program import Program, TensorSpec
from ..program.refusals import Refusal
from ..records.record_use import RecordUse
from ..system.cache import Cache
from .build_device import DeviceBuild
from .build_wasm import WasmBuild
from .bundle_part import BundlePart
from .verify import Comparison

if TYPE_CHECKING:
    from ..quantization.result import Quantization
    from .measure_layer import LayerError


@dataclass(slots=True)
class Report:
    """`operators` counts the model's nodes by operator, `seconds` are by phase; `weights` is the bytes of the
    bundle's constants, `weight_types` by the type of their elements, `memory` those of the wasm module; `recorded`
    has by target the use of its records, `unused` other targets of records, `damaged` counts lines that are no
    records; `uncompared` has by backend the reason why halves were not compared with the reference; `alone` is the
    target and the program that was written in place of a bundle, `cpu` the processor that it is for, `manual` the
    file that says how it is used."""

    model: str
    precision: str
    cache: Cache
    seconds: dict[str, float]
    operators: Counter[str] = field(default_factory=Counter)
    graph_nodes: int = 0
    inputs: tuple[TensorSpec, ...] = ()
    outputs: tuple[TensorSpec, ...] = ()
    dimensions: tuple[Dimension, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    weights: int = 0
    weight_types: Mapping[str, int] = field(default_factory=dict)
    memory: int = 0
    parts: list[BundlePart] = field(default_factory=list)
    recorded: dict[str, RecordUse] = field(default_factory=dict)
    unused: list[str] = field(default_factory=list)
    damaged: int = 0
    comparisons: list[Comparison] = field(default_factory=list)
    uncompared: dict[str, str] = field(default_factory=dict)
    layers: list[LayerError] = field(default_factory=list)
    quantization: Quantization | None = None
    alone: tuple[str, Program] | None = None
    cpu: str = ""
    manual: str = ""
    files: list[WrittenFile] = field(default_factory=list)

    @property
    def devices(self) -> list[DeviceBuild]:
        """The parts for GPUs."""
        return [p for p in self.parts if isinstance(p, DeviceBuild)]

    @property
    def wasm(self) -> WasmBuild | None:
        """The part for processors, if there is one."""
        return next((p for p in self.parts if isinstance(p, WasmBuild)), None)
