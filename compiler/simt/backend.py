"""A backend for an API of compute kernels: from a naive kernel to source text."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from math import prod
from typing import ClassVar

from ..choices import DEFAULT, Choices
from ..codegen.device_backend import CompiledKernel, Placements
from ..costs import WEBGPU_COSTS, GpuCosts
from ..dtypes import F16, F32, I8, U8, DType
from ..ir.all_reduce import AllReduce
from ..ir.grid import find_grid
from ..ir.nodes import Barrier, Kernel
from ..ir.rewrite import walk
from ..passes.compute_in_halves import compute_in_floats, compute_in_halves
from ..passes.count_work import count_work
from ..passes.pack_words import PACKED
from ..passes.reduce_by_subgroups import reduce_by_subgroups
from ..passes.store_narrow import load_wide, store_narrow
from ..program.device_program import DeviceKernel, Feature, Param, Placement, Subdimension
from ..schedule.by_choices import schedule_by
from ..schedule.schedule_elements import schedule_elements
from ..schedule.schedule_simt import schedule_simt
from ..system.run_passes import Observer, ignore, names_of
from ..target import GpuTarget, LayoutPolicy, Stages
from .check_limits import check_limits
from .fit_grid import fit_grid
from .lower import SUBGROUP_PASSES, TREE_PASSES, VECTOR_PASSES, Pass, lower

REPEATS = 12
"""A GPU makes some 40 operations in the time of a byte: the 25 of an exponential, which has so few nodes, take less
than to write it and to read it. Fragment shaders, where functions take long to compile, compute it once."""


def layouts_of(target: GpuTarget) -> LayoutPolicy:
    """Tensors in buffers; reductions of few results in stages."""
    return LayoutPolicy(
        windows=(0, 1, 2, 3),
        in_place=False,
        few_launches=True,
        repeats=REPEATS,
        few_channels=True,
        fill_halos=False,
        reads=target.storage_buffers - 1,
        stages=Stages(target.longest_alone, target.minimum_occupancy),
        shared=Stages(target.longest_shared, target.minimum_occupancy // target.invocations),
        occupancy=target.minimum_occupancy,
        device=WEBGPU_COSTS,
    )


def stages_of(language: str, tree_passes: tuple[Pass, ...] = TREE_PASSES) -> tuple[str, ...]:
    """The stages of each kernel that the observer of a backend receives. For a kernel with a variant for subgroups they
    repeat, from `reduce_by_subgroups` on."""
    return (
        "narrow_types",
        "load_wide",
        "schedule_simt",
        "store_narrow",
        *names_of((*VECTOR_PASSES, reduce_by_subgroups, *tree_passes)),
        "fit_grid",
        language,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputeBackend(ABC):
    """Values are in buffers, in linear order; halos rely on zero-initialised memory. Where results are fewer than the
    minimum occupancy, a workgroup computes a reduction together, and long ones are made in stages. `language` is that
    of the source, and the name of the last stage; `subgroups`: kernels have a variant that uses these, of which
    `collectives` are the operations."""

    tree_passes: ClassVar[tuple[Pass, ...]] = TREE_PASSES
    subgroup_passes: ClassVar[tuple[Pass, ...]] = SUBGROUP_PASSES
    target: GpuTarget
    name: str
    layouts: LayoutPolicy
    costs: GpuCosts
    language: str
    subgroups: bool = False
    collectives: tuple[str, ...] = ("+", "*", "max", "min")  # no set: keys of caches hold the text of a backend
    observe: Observer = field(default=ignore, repr=False, compare=False)

    @abstractmethod
    def render(self, lowered: Kernel) -> str:
        """The source of a kernel."""

    def find_features(self, lowered: Kernel) -> tuple[Feature, ...]:
        """Features that the source requires of a device."""
        return ()

    @property
    def stores_whole(self) -> bool:
        return self.target.matrix is not None and self.target.matrix.operands != "tf32"

    def fits(self, shape: tuple[int, ...]) -> bool:
        return prod(shape) * F32.bytes <= self.target.binding_bytes

    def place(self, kernels: Sequence[Kernel], arguments: Sequence[Sequence[int]], fixed: Set[int]) -> Placements:
        return {}

    def place_linear(self, elements: int) -> Placement | None:
        return None

    def memory_order(self, shape: tuple[int, ...], place: Placement | None) -> tuple[Subdimension, ...] | None:
        return None

    def compile_kernel(
        self, naive: Kernel, placements: Sequence[Placement | None], choices: Choices = DEFAULT
    ) -> CompiledKernel:
        self.observe("narrow_types", naive)
        wide = self._schedule(naive, choices)
        scheduled = wide if compute_in_floats(naive) is naive else compute_in_halves(wide)
        self.observe("store_narrow", scheduled)
        vectors = lower(scheduled, VECTOR_PASSES, self.observe)
        lowered = self._lower(vectors, self.tree_passes)
        check_limits(lowered, self.target)
        source = self._source(lowered)
        with_subgroups = None
        together = {n.op for n in walk(scheduled.body) if isinstance(n, AllReduce)}
        if self.subgroups and together and together.issubset(self.collectives):
            by_subgroups = self._lower(vectors, self.subgroup_passes)
            if _barriers(by_subgroups) < _barriers(lowered):
                with_subgroups = self._source(by_subgroups)
        return self._compiled(naive, scheduled, lowered, source, with_subgroups)

    def compile_simply(self, naive: Kernel, compiled: CompiledKernel) -> CompiledKernel:
        wide, narrow = load_wide(compute_in_floats(naive))
        layouts = {
            own: made.layout
            for own, made in zip(wide.params, compiled.params, strict=True)
            if own.constant and made.layout is not None and made.layout != own.layout
        }
        scheduled = schedule_elements(wide, self.target, layouts, words=_has_words(narrow, wide))
        scheduled = store_narrow(scheduled, {scheduled.params[i]: dtype for i, dtype in narrow.items()})
        lowered = self._lower(lower(scheduled, VECTOR_PASSES), self.tree_passes)
        check_limits(lowered, self.target)
        return self._compiled(naive, scheduled, lowered, self.render(lowered))

    def _compiled(
        self, naive: Kernel, scheduled: Kernel, lowered: Kernel, source: str, with_subgroups: str | None = None
    ) -> CompiledKernel:
        count = len(lowered.params) - lowered.outputs
        params = tuple(Param(b.dtype, "read" if i < count else "write") for i, b in enumerate(lowered.params))
        grid = find_grid(lowered)
        device_kernel = DeviceKernel(
            name=naive.name,
            source=source,
            params=params,
            grid=grid.sizes,
            flops=count_work(naive, scheduled),
            bytes=sum(prod(b.shape) * b.dtype.bytes for b in lowered.params),
            with_subgroups=with_subgroups,
            features=self.find_features(lowered),
            workgroup=grid.workgroup_size,
            scalars=lowered.scalars,
        )
        return CompiledKernel(device_kernel, scheduled.params, (None,) * len(scheduled.params))

    def _schedule(self, naive: Kernel, choices: Choices) -> Kernel:
        """The kernel with a schedule, whose arithmetic is float32."""
        wide, narrow = load_wide(compute_in_floats(naive))
        self.observe("load_wide", wide)
        halves = {wide.params[i] for i, dtype in narrow.items() if dtype in (F16, I8, U8)}
        words = _has_words(narrow, wide)
        scheduled = schedule_by(lambda c: schedule_simt(wide, self.target, c, halves, words=words), choices, naive.name)
        self.observe("schedule_simt", scheduled)
        return store_narrow(scheduled, {scheduled.params[i]: dtype for i, dtype in narrow.items()})

    def _lower(self, vectors: Kernel, passes: tuple[Pass, ...]) -> Kernel:
        """The passes after VECTOR_PASSES."""
        lowered = fit_grid(lower(vectors, passes[len(VECTOR_PASSES) :], self.observe), self.target.workgroups)
        self.observe("fit_grid", lowered)
        return lowered

    def _source(self, lowered: Kernel) -> str:
        source = self.render(lowered)
        self.observe(self.language, f"// {lowered.name}\n{source}")
        return source


def _has_words(narrow: Mapping[int, DType], kernel: Kernel) -> bool:
    """Whether several elements of the result are in one word of memory."""
    return narrow.get(len(kernel.params) - 1) in PACKED


def _barriers(kernel: Kernel) -> int:
    return sum(isinstance(n, Barrier) for n in walk(kernel.body))
