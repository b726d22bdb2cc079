"""From naive kernels to the program for one CPU target."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import prod

from ..choices import DEFAULT, Choices, Replay, key_of_choices
from ..errors import ScheduleError
from ..ir.layout import Layout
from ..ir.nodes import Kernel, Scalar
from ..ir.simplify import simplify
from ..passes.clamp_conversions import clamp_conversions
from ..passes.flatten_indices import flatten_indices
from ..passes.halve_dots import halve_dots
from ..passes.hoist_constants import hoist_constants
from ..passes.lower_addresses import lower_addresses
from ..passes.lower_float16 import lower_float16
from ..passes.lower_math import lower_math
from ..passes.outline_cores import outline_cores
from ..passes.outline_tiles import outline_tiles
from ..passes.relax_extremes import relax_extremes
from ..passes.unroll_in_order import unroll_in_order
from ..passes.unroll_loops import unroll_loops
from ..passes.vectorize_loops import vectorize_loops
from ..pipeline.describe_forms import describe_forms
from ..pipeline.lazy_kernels import (
    LAYOUTS,
    Layouts,
    LazyKernels,
    describe,
    kernel_key,
    layouts_from_bytes,
    layouts_to_bytes,
)
from ..pipeline.lowered import Lowered, kernel_name
from ..pipeline.plan_kernels import KernelChoices, KernelPlan, plan_kernels
from ..pipeline.weights import Weights
from ..program.plan_memory import aligned_size
from ..program.program import Launch, Program, Region, Slot, Step, TensorSpec, kept_spec
from ..program.steps import Branch, Loop
from ..schedule.by_choices import schedule_by
from ..schedule.schedule_cpu import schedule_cpu
from ..system.cache import Cache
from ..system.recursion import deep_recursion
from ..system.run_passes import Observer, ignore, names_of, run_passes
from ..target import Target
from ..tensor import Tensor
from ..tensor.build_kernel import build_kernel
from ..tensor.fuse import Group
from ..tensor.repack_kernel import repack_kernel
from ..tensor.steps import BranchStep, LoopStep, condition_of
from ..tensor.steps import Steps as ModelSteps
from .share_layouts import share_layouts

KernelPass = Callable[[Kernel], Kernel]

REPACKED, REPACKED_BYTES = 2**14, 2**11
"""Elements from which on a constant is in the file in one layout, and copied to others at load; of one of int8."""

LOWERING_PASSES: tuple[KernelPass, ...] = (
    flatten_indices,
    vectorize_loops,
    unroll_loops,
    simplify,
    clamp_conversions,
    lower_math,
    lower_float16,
    outline_tiles,
    outline_cores,
    unroll_in_order,
    hoist_constants,
    lower_addresses,
)
"""From a scheduled kernel to one for the LLVM renderer. Unrolling multiplies the work of later passes, so passes that
can treat all iterations at once come before it."""

_EXTREMES_KNOWN = LOWERING_PASSES.index(lower_float16) + 1

RELAXED_PASSES = (*LOWERING_PASSES[:_EXTREMES_KNOWN], relax_extremes, halve_dots, *LOWERING_PASSES[_EXTREMES_KNOWN:])
"""Lowering passes for a target with relaxed instructions of wasm."""

STAGES = ("schedule_cpu", *names_of(RELAXED_PASSES))
"""The stages of each kernel that an observer receives, in order."""


@deep_recursion()
def compile_for_cpu(
    model: Lowered,
    target: Target,
    observe: Observer = ignore,
    opt_level: int = 2,
    weights: Weights | None = None,
    cache: Cache | None = None,
    plan: KernelPlan | None = None,
    passes: tuple[KernelPass, ...] | None = None,
) -> Program:
    """Schedules (from `opt_level` 1 on) and lowers each kernel once for `target`, packs the constants, lists launches.

    `passes` lower kernels, by default those for LLVM. `plan` is that of `plan_for_cpu` for the same target and level;
    kernels that are not in it have their default schedule. Programs of one model for several targets may share
    `weights`. Kernels that `cache` has from earlier builds are not compiled again.
    """
    compiler = _Compiler(target, opt_level, cache or Cache(None), observe, passes)
    launches = _Launches(model, compiler, weights or Weights(), plan or {})
    steps = launches.steps(model.steps)
    scalars, arena = _place_scalars(model)

    def spec(name: str, t: Tensor) -> TensorSpec:
        return TensorSpec(name, t.dtype, t.shape, model.stored.offset[t])

    states = dict(model.tensors.state_tensors)
    inputs = tuple(spec(name, t) for name, t in model.tensors.inputs if t not in states)
    outputs = tuple(spec(name, t) for name, t in model.tensors.outputs if t not in states.values())
    kept = tuple(
        kept_spec(spec(name, t), t.extents, model.tensors.state(name))
        for name, t in model.tensors.inputs
        if t in states
    )
    return Program(
        name=model.name,
        kernels=LazyKernels(launches.makers),
        keys=tuple(launches.keys),
        steps=steps,
        inputs=inputs,
        outputs=outputs,
        weights=launches.weights.memory(),
        weight_types=launches.weights.types_in_memory,
        arena=arena,
        prepare=tuple(launches.prepare),
        prepared=launches.prepared,
        needs=launches.needs(),
        dimensions=model.tensors.dimensions,
        scalars=scalars,
        refusals=model.tensors.refusals,
        states=kept,
        state_bytes=model.stored.state_bytes,
    )


def _place_scalars(model: Lowered) -> tuple[dict[Scalar, int], int]:
    """Where the arena has the scalars of launches, counters of loops excepted, in bytes; and its size: those that the
    caller passes follow all tensors. What a device measures, and no launch here needs, has no place."""
    places = {d.scalar: model.stored.peak + 4 * i for i, d in enumerate(model.tensors.dimensions)}
    offsets = model.stored.offset
    places |= {s: offsets[t] for s, t in model.measured.items() if s not in places and t in offsets}
    room = aligned_size(4 * len(model.tensors.dimensions)) if model.tensors.dimensions else 0
    return places, model.stored.peak + room


def compile_kernel(
    naive: Kernel,
    target: Target,
    opt_level: int,
    observe: Observer = ignore,
    choices: Choices = DEFAULT,
    passes: tuple[KernelPass, ...] | None = None,
) -> Kernel:
    """Schedules (from `opt_level` 1 on) and lowers a naive kernel, by default for LLVM."""
    scheduled = schedule_kernel(naive, target, opt_level, choices)
    observe("schedule_cpu", scheduled)
    if passes is None:
        passes = RELAXED_PASSES if target.relaxed_extremes else LOWERING_PASSES
    return lower_kernel(scheduled, passes, observe)


def schedule_kernel(naive: Kernel, target: Target, opt_level: int, choices: Choices) -> Kernel:
    """Raises ScheduleError where `choices` are not legal; below `opt_level` 1 none are made."""
    if not opt_level:
        return replace(naive, forms=())
    return schedule_by(lambda c: schedule_cpu(naive, target, c), choices, naive.name)


def lower_kernel(
    kernel: Kernel, passes: tuple[KernelPass, ...] = LOWERING_PASSES, observe: Observer = ignore
) -> Kernel:
    """The lowering passes, in order."""
    return run_passes(kernel, passes, observe)


@deep_recursion()
def plan_for_cpu(
    model: Lowered, targets: Sequence[Target], choices: KernelChoices, opt_level: int = 2, cache: Cache | None = None
) -> KernelPlan:
    """The choices of the model's kernels in programs for `targets`, which share their weights."""
    compilers = [_Compiler(t, opt_level, cache or Cache(None)) for t in targets]
    kernels = {i: (naive, ()) for i, naive in enumerate(model.kernels)}
    plan = plan_kernels(kernels, choices, lambda naive, _, recorded: _agree(compilers, naive, recorded))
    return share_layouts(
        model, plan, targets[0].lanes, lambda naive, chosen: [c.layouts(naive, chosen) for c in compilers]
    )


def _agree(compilers: Sequence[_Compiler], naive: Kernel, recorded: Replay) -> Choices:
    """Recorded choices that all targets can take, which were measured on one of them: on the others decisions that are
    not legal there are the default ones. Raises ScheduleError where they are legal on none, or where targets would read
    constants in different layouts."""
    layouts: set[Layouts] = set()
    errors: list[ScheduleError] = []
    for c in compilers:
        try:
            layouts.add(c.layouts(naive, recorded))
        except ScheduleError as error:
            errors.append(error)
    if not layouts:
        raise errors[0]
    if errors:
        recorded = replace(recorded, lenient=True)
        layouts = {c.layouts(naive, recorded) for c in compilers}
    if len(layouts) > 1:
        raise ScheduleError("the variants of the module would read their weights in different layouts")
    return recorded


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A kernel, lowered on demand, and the layouts of its parameters."""

    key: str
    make: Callable[[], Kernel]
    layouts: Layouts


@dataclass(frozen=True, slots=True)
class _Compiler:
    """Compiles kernels that the cache lacks."""

    target: Target
    opt_level: int
    cache: Cache
    observe: Observer = ignore
    passes: tuple[KernelPass, ...] | None = None

    def compile(self, naive: Kernel, choices: Choices) -> _Compiled:
        """Raises ScheduleError where `choices` are not legal."""
        make = functools.cache(
            lambda: compile_kernel(naive, self.target, self.opt_level, self.observe, choices, self.passes)
        )
        key = self._key(naive, choices)
        return _Compiled(key, make, self._layouts(key, make))

    def layouts(self, naive: Kernel, choices: Choices) -> Layouts:
        """The layouts of a kernel's parameters, which need no code. Raises ScheduleError."""
        return self._layouts(
            self._key(naive, choices), lambda: schedule_kernel(naive, self.target, self.opt_level, choices)
        )

    def _key(self, naive: Kernel, choices: Choices) -> str:
        return kernel_key(describe(naive), self.target, self.opt_level, choices)

    def _layouts(self, key: str, make: Callable[[], Kernel]) -> Layouts:
        cached = self.cache.get(LAYOUTS, key)
        if cached is not None:
            return layouts_from_bytes(cached)
        layouts: Layouts = tuple(b.layout for b in make().params)
        self.cache.put(LAYOUTS, key, layouts_to_bytes(layouts))
        return layouts


class _Launches:
    """Distinct kernels, and the memory of their launches' arguments."""

    def __init__(
        self,
        model: Lowered,
        compiler: _Compiler,
        weights: Weights,
        plan: KernelPlan,
    ) -> None:
        self._model, self._compiler, self._plan = model, compiler, plan
        self._shared: dict[str, int] = {}
        self._layouts: list[Layouts] = []
        self._placed: dict[tuple[Tensor, Layout], Slot] = {}
        self.makers: list[Callable[[], Kernel]] = []
        self.keys: list[str] = []
        self.weights = weights
        self.prepare: list[Launch] = []
        self.prepared = 0

    def steps(self, steps: ModelSteps) -> tuple[Step, ...]:
        """The launches of all groups, with the loops and branches around them."""
        return tuple(map(self._step, steps))

    def _step(self, step: int | LoopStep[int] | BranchStep[int]) -> Step:
        if isinstance(step, int):
            choices = self._plan[step].choices if step in self._plan else DEFAULT
            return self.launch(self._model.groups[step], self._model.kernels[step], choices)
        if isinstance(step, LoopStep):
            carried = condition_of(step)
            condition = None if carried is None else self._in_memory(carried)
            return Loop(step.loop.counter, step.loop.trips, condition, self.steps(step.body))
        tested = self._in_memory(step.condition) if isinstance(step.condition, Tensor) else step.condition
        return Branch(tested, self.steps(step.then), self.steps(step.otherwise))

    def needs(self) -> tuple[int, ...]:
        """How far the launches at load read the weights, each with those before it."""
        ends = (
            max((self.weights.end_in_memory(a.offset) for a in s.arguments if a.region is Region.WEIGHTS), default=0)
            for s in self.prepare
        )
        return tuple(accumulate(ends, max))

    def _in_memory(self, tensor: Tensor) -> Slot:
        """Where a run has it: in the arena, or in a state."""
        stored = self._model.stored
        region = Region.STATE if stored.owner.get(tensor) in stored.states else Region.ARENA
        return Slot(region, stored.offset[tensor])

    def launch(self, group: Group, naive: Kernel, choices: Choices = DEFAULT, output: Slot | None = None) -> Launch:
        """The launch of a group's kernel, with `output` in the arena unless given."""
        at = self._kernel(naive, choices)
        *others, result = self._layouts[at]
        arguments = [self._slot(t, layout) for t, layout in zip((*group.reads, *group.scratch), others, strict=True)]
        arguments.append(output or self._slot(group.output, result))
        origin, forms = group.origin, describe_forms(naive, group.reads)
        return Launch(at, naive.name, tuple(arguments), origin.nodes, origin.ops, naive.scalars, forms)

    def _kernel(self, naive: Kernel, choices: Choices = DEFAULT) -> int:
        """The number of the kernel; if its code is cached, only its layouts are needed."""
        shared = describe(naive) + key_of_choices(choices)
        if shared in self._shared:
            return self._shared[shared]
        compiled = self._compiler.compile(naive, choices)
        self._layouts.append(compiled.layouts)
        self.makers.append(compiled.make)
        self.keys.append(compiled.key)
        self._shared[shared] = len(self._shared)
        return self._shared[shared]

    def _slot(self, tensor: Tensor, layout: Layout | None) -> Slot:
        if not tensor.is_constant:
            return self._in_memory(tensor)
        assert layout is not None
        if tensor.prepared:
            return self._prepare(tensor, layout)
        assert tensor.data is not None
        if tensor.data.size < (REPACKED if tensor.dtype.bytes > 1 else REPACKED_BYTES):
            return Slot(Region.WEIGHTS, self.weights.in_memory(self.weights.add(tensor, layout)))
        there, at = self.weights.find(tensor, layout)
        source = Slot(Region.WEIGHTS, self.weights.in_memory(at))
        return source if there == layout else self._repack(tensor, source, there, layout)

    def _repack(self, tensor: Tensor, source: Slot, there: Layout, layout: Layout) -> Slot:
        """The slot of a constant in `layout` after loading, copied from the file's layout."""
        key = (tensor, layout)
        if key not in self._placed:
            self._placed[key] = self._new_slot(tensor, layout)
            naive = repack_kernel(tensor, there, layout)
            arguments = (source, self._placed[key])
            self.prepare.append(Launch(self._kernel(naive), naive.name, arguments, (tensor.name,), ("Layout",)))
        return self._placed[key]

    def _new_slot(self, tensor: Tensor, layout: Layout) -> Slot:
        """Memory that is written at load."""
        slot = Slot(Region.PREPARED, self.prepared)
        self.prepared += aligned_size(prod(layout.physical_shape) * tensor.dtype.bytes)
        return slot

    def _prepare(self, tensor: Tensor, layout: Layout) -> Slot:
        """The slot of `tensor` in `layout` after loading; its kernel is built for that layout."""
        key = (tensor, layout)
        if key not in self._placed:
            group = self._model.prepared[tensor]
            slot = self._placed[key] = self._new_slot(tensor, layout)
            naive = build_kernel(kernel_name(group), group, {tensor: layout})
            self._compiler.observe("build_kernel", naive)
            self.prepare.append(self.launch(group, naive, output=slot))
        return self._placed[key]
