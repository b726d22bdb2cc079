"""Naive kernels of a device, each by itself on this machine's processor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..ir.nodes import Binary, Kernel
from ..ir.rewrite import walk
from ..ir.scalar_ops import DOTS
from ..passes.count_work import count_work
from ..program.program import read_tensor, segment_entry, write_tensor
from ..system.cache import Cache
from .kernel_program import kernel_program

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
    """A program of which each kernel is a segment: they run one after the other."""

    def __init__(self, kernels: Sequence[Kernel], opt_level: int, cache: Cache) -> None:
        from ..execution.native_model import NativeModel
        from ..native.jit import host_target

        self._kernels = kernel_program(kernels, replace(host_target(), registers=REGISTERS), opt_level, cache)
        self._model = NativeModel(self._kernels.program, cache=cache)

    def run(self, number: int, operands: Sequence[Array], before: Array, scalars: Sequence[int]) -> Array:
        arena = self._model.arena
        *reads, result = self._kernels.params[number]
        for spec, array in zip(reads, operands, strict=True):
            write_tensor(arena, spec, array)
        write_tensor(arena, result, before)
        for offset, value in zip(self._kernels.scalars[number], scalars, strict=True):
            arena[offset:][:4].view(np.int32)[0] = value
        self._model.call(segment_entry(number))
        return read_tensor(arena, result)
