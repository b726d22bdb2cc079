"""Naive kernels of a device, each by itself on this machine's processor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..cpu.compile_for_cpu import compile_for_cpu
from ..ir.layout import Layout
from ..ir.nodes import Binary, Const, Kernel, Origin
from ..ir.rewrite import replace_buffers, walk
from ..ir.scalar_ops import DOTS
from ..passes.count_work import count_work
from ..pipeline.lowered import Lowered
from ..program.dimensions import Dimension
from ..program.plan_memory import aligned_size
from ..program.program import read_tensor, segment_entry, write_tensor
from ..schedule.expand_entries import expand_entries
from ..system.cache import Cache
from ..tensor import Tensor
from ..tensor.fuse import Group
from ..tensor.place_tensors import Stored
from ..tensor.program import TensorProgram

Array = np.ndarray


MOST_AS_IT_IS = 3e7
"""Operations of a kernel above which it has a schedule, which takes longer to compile than a launch without one."""
REGISTERS = 4
"""Fewer than a processor has: small tiles are a third of the code, and compile in half the time."""


class NativeKernels:
    """`kernels` in one program, or two: those with a schedule, and those without."""

    def __init__(self, kernels: Sequence[Kernel], cache: Cache) -> None:
        """Raises InputError for memory that this machine lacks."""
        levels = [2 if _is_worth_a_schedule(k) else 0 for k in kernels]
        self._segments = {
            level: _Segments([k for k, of in zip(kernels, levels, strict=True) if of == level], level, cache)
            for level in set(levels)
        }
        self._places = [(level, levels[:i].count(level)) for i, level in enumerate(levels)]

    def run(self, number: int, operands: Sequence[Array], before: Array, scalars: Sequence[int] = ()) -> Array:
        """The result of a kernel: `operands` are of the shapes and types of its parameters, `before` is what the
        memory of the result holds before."""
        level, at = self._places[number]
        return self._segments[level].run(at, operands, before, scalars)


def _is_worth_a_schedule(kernel: Kernel) -> bool:
    """Whether it makes many operations. Words of bytes are in the layouts of a device."""
    of_words = any(isinstance(n, Binary) and n.op in DOTS for n in walk(kernel.body))
    return not of_words and count_work(kernel, kernel) > MOST_AS_IT_IS


class _Segments:
    """A program of which each kernel is a segment, over the same memory: they run one after the other."""

    def __init__(self, kernels: Sequence[Kernel], opt_level: int, cache: Cache) -> None:
        from ..execution.native_model import NativeModel
        from ..native.jit import host_target

        self._kernels = kernels
        parts = [_plain(i, k, opt_level) for i, k in enumerate(kernels)]
        target = replace(host_target(), registers=REGISTERS)
        program = compile_for_cpu(_model(parts), target, opt_level=opt_level, cache=cache)
        each = tuple((i, i + 1) for i in range(len(kernels)))
        self._model = NativeModel(replace(program, segments=each), cache=cache)
        specs = {s.name: s for s in (*program.inputs, *program.outputs)}
        self._specs = [[specs[b.name] for b in k.params] for _, k in parts]

    def run(self, number: int, operands: Sequence[Array], before: Array, scalars: Sequence[int]) -> Array:
        arena, program = self._model.arena, self._model.program
        *reads, result = self._specs[number]
        for spec, array in zip(reads, operands, strict=True):
            write_tensor(arena, spec, array)
        write_tensor(arena, result, before)
        for scalar, value in zip(self._kernels[number].scalars, scalars, strict=True):
            arena[program.scalars[scalar] :][:4].view(np.int32)[0] = value
        self._model.call(segment_entry(number))
        return read_tensor(arena, result)


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
