"""Naive kernels as a program of their own, of which each kernel is a function, over the same memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..cpu.compile_for_cpu import compile_for_cpu
from ..ir.layout import Layout
from ..ir.nodes import Const, Kernel, Origin
from ..ir.rewrite import replace_buffers
from ..pipeline.lowered import Lowered
from ..program.dimensions import Dimension
from ..program.plan_memory import aligned_size
from ..program.program import Program, TensorSpec
from ..schedule.expand_entries import expand_entries
from ..system.cache import Cache
from ..target import Target
from ..tensor import Tensor
from ..tensor.fuse import Group
from ..tensor.place_tensors import Stored
from ..tensor.program import TensorProgram


@dataclass(frozen=True, slots=True)
class KernelProgram:
    """`program` has a segment for each kernel, by its number. `params` are where it takes each parameter, the result
    last, and `scalars` the offsets of the int32 that it takes, in bytes into the arena."""

    program: Program
    params: tuple[tuple[TensorSpec, ...], ...]
    scalars: tuple[tuple[int, ...], ...]


def kernel_program(kernels: Sequence[Kernel], target: Target, opt_level: int, cache: Cache) -> KernelProgram:
    """The program of `kernels`, whose parameters are row-major arrays of their shapes; with a schedule from `opt_level`
    1 on."""
    parts = [_plain(i, k, opt_level) for i, k in enumerate(kernels)]
    program = compile_for_cpu(_model(parts), target, opt_level=opt_level, cache=cache)
    program = replace(program, segments=tuple((i, i + 1) for i in range(len(kernels))))
    specs = {s.name: s for s in (*program.inputs, *program.outputs)}
    return KernelProgram(
        program,
        tuple(tuple(specs[b.name] for b in k.params) for _, k in parts),
        tuple(tuple(program.scalars[s] for s in k.scalars) for k in kernels),
    )


def _plain(number: int, kernel: Kernel, opt_level: int) -> tuple[Group, Kernel]:
    """A kernel over row-major tensors of the shapes of its parameters, none of them constant. Without a schedule its
    matrices are selections."""
    now = {
        b: replace(b, name=f"{number}_{i}", constant=False, layout=Layout.row_major(b.shape))
        for i, b in enumerate(kernel.params)
    }
    *reads, output = (Tensor(b) for b in now.values())
    group = Group(output, (), Const(0), None, None, tuple(reads), Origin())
    body = replace_buffers(kernel.body if opt_level else expand_entries(kernel.body), now)
    return group, replace(kernel, params=tuple(now.values()), body=body)


def _model(parts: Sequence[tuple[Group, Kernel]]) -> Lowered:
    """A model of which all groups use the same memory."""
    offset: dict[Tensor, int] = {}
    peak = 0
    for group, _ in parts:
        end = 0
        for t in (*group.reads, group.output):
            offset[t] = end
            end += aligned_size(t.buffer.size * t.dtype.bytes)
        peak = max(peak, end)
    scalars = dict.fromkeys(s for _, k in parts for s in k.scalars)
    return Lowered(
        name="kernels",
        tensors=TensorProgram(
            tuple((t.name, t) for group, _ in parts for t in group.reads),
            tuple((group.output.name, group.output) for group, _ in parts),
            (),
            {},
            dimensions=tuple(Dimension(s.name, s) for s in scalars),
        ),
        groups=tuple(group for group, _ in parts),
        kernels=tuple(k for _, k in parts),
        layouts={t: Layout.row_major(t.extents) for t in offset},
        aliases={},
        stored=Stored({t: t for t in offset}, offset, peak),
        prepared={},
        steps=tuple(range(len(parts))),
    )
