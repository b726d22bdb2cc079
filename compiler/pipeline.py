"""From a graph to programs: the straight line of the compiler, on one screen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from .graph.ir import Graph
from .graph.lower_graph import lower_graph
from .graph.passes import GRAPH_PASSES
from .ir.layout import Layout
from .ir.nodes import Buffer, Kernel, Load
from .ir.printer import print_kernel
from .ir.rewrite import loads
from .ir.simplify import simplify
from .passes.flatten_indices import flatten_indices
from .passes.lower_float16 import lower_float16
from .passes.lower_math import lower_math
from .passes.unroll_loops import unroll_loops
from .passes.vectorize_loops import vectorize_loops
from .plan_memory import Plan, Request, plan_memory
from .program import Program, Slot, Step, TensorSpec
from .schedule.schedule_cpu import schedule_cpu
from .target import Target
from .tensor import Tensor
from .tensor.aliases import find_aliases
from .tensor.build_kernel import build_kernel
from .tensor.choose_layout import add_relayouts, choose_layout
from .tensor.fuse import Group, fuse
from .tensor.program import TensorProgram

KernelPass = Callable[[Kernel], Kernel]

LOWERING_PASSES: tuple[KernelPass, ...] = (
    unroll_loops,
    simplify,
    flatten_indices,
    vectorize_loops,
    lower_math,
    lower_float16,
)
"""From a scheduled kernel to one that the LLVM renderer takes."""

Observer = Callable[[str, "Graph | Kernel"], None]
"""Told of each result: the name of the pass, and what it made."""


def _ignore(_: str, __: Graph | Kernel) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Stored:
    """Tensors placed in memory: `plan` has a request per entry of `owners`; an alias shares its owner's memory."""

    owner: Mapping[Tensor, Tensor]
    offset: Mapping[Tensor, int]
    peak: int


@dataclass(frozen=True, slots=True)
class Lowered:
    """A model as naive kernels, before anything depends on a target. `kernels` belong to `groups` one by one."""

    name: str
    tensors: TensorProgram
    groups: tuple[Group, ...]
    kernels: tuple[Kernel, ...]
    layouts: Mapping[Tensor, Layout]
    stored: Stored


def optimise_graph(graph: Graph, observe: Observer = _ignore) -> Graph:
    """The graph passes, in order."""
    for run in GRAPH_PASSES:
        graph = run(graph)
        observe(run.__name__, graph)
    return graph


def lower_model(graph: Graph, observe: Observer = _ignore) -> Lowered:
    """Operators become tensors, tensors groups, groups naive kernels with a place for each result."""
    tensors = add_relayouts(lower_graph(graph))
    groups = fuse(tensors)
    layouts = choose_layout(tensors, groups)
    fixed = {t for _, t in tensors.inputs}
    aliases = find_aliases(groups, layouts, fixed)
    groups = tuple(g for g in groups if g.output not in aliases)
    kernels = []
    for g in groups:
        kernels.append(build_kernel(_kernel_name(g), g, layouts))
        observe("build_kernel", kernels[-1])
    stored = place_tensors(tensors, groups, layouts, aliases)
    return Lowered(graph.name, tensors, groups, tuple(kernels), layouts, stored)


def compile_for(model: Lowered, target: Target, observe: Observer = _ignore) -> Program:
    """Schedules and lowers each kernel once for `target`, packs the constants, and lists the steps."""
    shared: dict[str, int] = {}
    kernels: list[Kernel] = []
    params: list[tuple[Buffer, ...]] = []
    weights = _Weights()
    steps: list[Step] = []
    for group, naive in zip(model.groups, model.kernels, strict=True):
        key = print_kernel(naive, named=False)
        if key not in shared:
            scheduled = schedule_cpu(naive, target)
            observe("schedule_cpu", scheduled)
            shared[key] = len(kernels)
            params.append(scheduled.params)
            kernels.append(lower_kernel(scheduled, observe))
        at = shared[key]
        arguments = []
        for tensor, buffer in zip((*group.reads, group.output), params[at], strict=True):
            if tensor.data is not None:
                assert buffer.layout is not None
                arguments.append(Slot(True, weights.add(tensor, buffer.layout)))
            else:
                arguments.append(Slot(False, model.stored.offset[tensor]))
        steps.append(Step(at, naive.name, tuple(arguments), group.origin.nodes, group.origin.ops))

    def spec(name: str, t: Tensor) -> TensorSpec:
        return TensorSpec(name, t.dtype, t.shape, model.stored.offset[t])

    inputs = tuple(spec(name, t) for name, t in model.tensors.inputs)
    outputs = tuple(spec(name, t) for name, t in model.tensors.outputs)
    return Program(model.name, tuple(kernels), tuple(steps), inputs, outputs, weights.blob(), model.stored.peak)


def lower_kernel(kernel: Kernel, observe: Observer = _ignore) -> Kernel:
    """The lowering passes, in order."""
    for run in LOWERING_PASSES:
        kernel = run(kernel)
        observe(run.__name__, kernel)
    return kernel


def place_tensors(
    tensors: TensorProgram,
    groups: tuple[Group, ...],
    layouts: Mapping[Tensor, Layout],
    aliases: Mapping[Tensor, Tensor],
) -> Stored:
    """Live ranges in steps, aliases and in-place results merged, then the memory plan."""
    owner: dict[Tensor, Tensor] = {}

    def find(t: Tensor) -> Tensor:
        while t in owner:
            t = owner[t]
        return t

    owner.update(aliases)
    made = {g.output: i for i, g in enumerate(groups)}
    outputs = {t for _, t in tensors.outputs}
    inputs = {t for _, t in tensors.inputs}
    end = len(groups)
    last: dict[Tensor, int] = {}
    for i, g in enumerate(groups):
        for t in g.reads:
            if t.data is None:
                last[find(t)] = i
    for t in outputs:
        last[find(t)] = end
    for i, g in enumerate(groups):
        source = _overwritable(g, layouts)
        if source is not None:
            root = find(source)
            if root not in inputs and last[root] == i and root is not find(g.output):
                owner[g.output] = root
                last[root] = max(last[root], last.pop(g.output, i))
    roots = list(dict.fromkeys(find(t) for t in (*inputs_in_order(tensors), *(g.output for g in groups))))
    requests = []
    for t in roots:
        first = 0 if t in inputs else made[t]
        requests.append(Request(_bytes(t, layouts), first, max(last.get(t, first), first)))
    plan: Plan = plan_memory(requests)
    where = dict(zip(roots, plan.offsets, strict=True))
    everything = {*roots, *owner}
    return Stored({t: find(t) for t in everything}, {t: where[find(t)] for t in everything}, plan.peak)


def inputs_in_order(tensors: TensorProgram) -> list[Tensor]:
    return [t for _, t in tensors.inputs]


def _overwritable(g: Group, layouts: Mapping[Tensor, Layout]) -> Tensor | None:
    """What the group reads only at the very element that it writes, in the same layout: the result may take its place."""
    here = layouts[g.output]
    for t in g.reads:
        if t.data is not None or t.dtype != g.output.dtype or layouts[t] != here:
            continue
        inside = () if g.reduce is None else tuple(x for x in loads(g.reduce.value) if x.buffer is t.buffer)
        sites = [x for x in loads(g.body) if x.buffer is t.buffer]
        if not inside and sites and all(_same_element(x, g) for x in sites):
            return t
    return None


def _same_element(x: Load, g: Group) -> bool:
    return x.guard is None and x.indices == g.axes


def _bytes(t: Tensor, layouts: Mapping[Tensor, Layout]) -> int:
    return int(np.prod(layouts[t].physical_shape, dtype=np.int64)) * t.dtype.bytes


def _kernel_name(g: Group) -> str:
    words = "_".join(dict.fromkeys(op.lower() for op in g.origin.ops)) or "copy"
    return "".join(c if c.isalnum() else "_" for c in words)[:48]


class _Weights:
    """The constants, packed, each (tensor, layout) once."""

    def __init__(self) -> None:
        self._offsets: dict[tuple[Tensor, Layout], int] = {}
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, tensor: Tensor, layout: Layout) -> int:
        key = (tensor, layout)
        if key not in self._offsets:
            assert tensor.data is not None
            data = layout.pack(tensor.data).tobytes()
            data += bytes(-len(data) % 64)
            self._offsets[key] = self._size
            self._parts.append(data)
            self._size += len(data)
        return self._offsets[key]

    def blob(self) -> bytes:
        return b"".join(self._parts)


__all__ = ["compile_for", "lower_kernel", "lower_model", "optimise_graph", "replace"]
