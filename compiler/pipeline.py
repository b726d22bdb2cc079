"""From a graph to programs: the straight line of the compiler, on one screen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .graph.ir import Graph
from .graph.lower_graph import lower_graph
from .ir.layout import Layout
from .ir.nodes import Buffer, Kernel
from .ir.printer import print_kernel
from .ir.simplify import simplify
from .passes.flatten_indices import flatten_indices
from .passes.lower_float16 import lower_float16
from .passes.lower_math import lower_math
from .passes.unroll_loops import unroll_loops
from .passes.vectorize_loops import vectorize_loops
from .program import Program, Slot, Step, TensorSpec
from .recursion import deep_recursion
from .schedule.schedule_cpu import schedule_cpu
from .target import Target
from .tensor import Tensor
from .tensor.add_relayouts import add_relayouts
from .tensor.aliases import find_aliases
from .tensor.build_kernel import build_kernel
from .tensor.choose_layout import choose_layout, row_major
from .tensor.fuse import Group, fuse
from .tensor.place_tensors import Stored, place_tensors
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
class Lowered:
    """A model as naive kernels, before anything depends on a target. `kernels` belong to `groups` one by one."""

    name: str
    tensors: TensorProgram
    groups: tuple[Group, ...]
    kernels: tuple[Kernel, ...]
    layouts: Mapping[Tensor, Layout]
    stored: Stored


@deep_recursion()
def lower_model(graph: Graph, observe: Observer = _ignore, opt_level: int = 2) -> Lowered:
    """Operators become tensors, tensors groups, groups naive kernels with a place for each result.

    Below `opt_level` 2 every tensor lies row-major.
    """
    tensors = lower_graph(graph)
    if opt_level >= 2:
        tensors = add_relayouts(tensors)
    groups = fuse(tensors)
    layouts = choose_layout(tensors, groups) if opt_level >= 2 else row_major(tensors, groups)
    fixed = {t for _, t in tensors.inputs}
    aliases = find_aliases(groups, layouts, fixed)
    groups = tuple(g for g in groups if g.output not in aliases)
    kernels = []
    for g in groups:
        kernels.append(build_kernel(_kernel_name(g), g, layouts))
        observe("build_kernel", kernels[-1])
    stored = place_tensors(tensors, groups, layouts, aliases)
    return Lowered(graph.name, tensors, groups, tuple(kernels), layouts, stored)


@deep_recursion()
def compile_for(model: Lowered, target: Target, observe: Observer = _ignore, opt_level: int = 2) -> Program:
    """Schedules (from `opt_level` 1 on) and lowers each kernel once for `target`, packs the constants, lists steps."""
    shared: dict[str, int] = {}
    kernels: list[Kernel] = []
    params: list[tuple[Buffer, ...]] = []
    weights = _Weights()
    steps: list[Step] = []
    for group, naive in zip(model.groups, model.kernels, strict=True):
        key = print_kernel(naive, named=False)
        if key not in shared:
            scheduled = schedule_cpu(naive, target) if opt_level else naive
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
