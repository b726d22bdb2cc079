"""Kernels for this machine's processor, each timed by itself."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..cpu.compile_for_cpu import compile_for_cpu
from ..pipeline.lowered import Lowered
from ..pipeline.plan_kernels import KernelPlan
from ..program.program import Launch, segment_entry
from ..system.cache import Cache

if TYPE_CHECKING:
    from ..execution.native_model import NativeModel

Array = np.ndarray

BATCH = 0.02
"""Seconds of the runs that are timed together."""


@dataclass(frozen=True, slots=True)
class NativeProgram:
    """A lowered model, and the plan of its kernels if they have others than their default schedules."""

    lowered: Lowered
    plan: KernelPlan | None = None
    threads: int = 1

    def compile(self, cache: Cache | None) -> TimedModel:
        from ..execution.native_model import NativeModel
        from ..native.jit import host_target

        program = compile_for_cpu(self.lowered, host_target(), cache=cache, plan=self.plan)
        each = tuple((i, i + 1) for i in range(len(program.steps)))
        return TimedModel(NativeModel(replace(program, segments=each), self.threads, cache))


class TimedModel:
    """A native model of which each step is a function: a LoadedModel."""

    def __init__(self, model: NativeModel) -> None:
        self._model = model
        self._entries = [segment_entry(i) for i in range(len(model.program.segments))]

    def run(self, inputs: Mapping[str, Array], *, deadline: float = 0) -> dict[str, Array]:
        self._model.ports.write(inputs)
        for entry in self._entries:
            self._model.call(entry)
        return self._model.ports.read()

    def profile(self, inputs: Mapping[str, Array], *, repeat: int, deadline: float = 0) -> list[dict[str, Any]]:
        """Whole runs: a step by itself would read what it has overwritten (the operand of a result in place, the start
        of what a loop carries), and memory of inputs that later steps use."""
        spent = [0.0] * len(self._entries)
        for _ in range(repeat):
            self._model.ports.write(inputs)
            for i, entry in enumerate(self._entries):
                start = time.perf_counter()
                self._model.call(entry)
                spent[i] += time.perf_counter() - start
        names = (s.name if isinstance(s, Launch) else type(s).__name__.lower() for s in self._model.program.steps)
        return [{"name": name, "ms": t * 1e3 / repeat} for name, t in zip(names, spent, strict=True)]

    def time(self, inputs: Mapping[str, Array], *, deadline: float = 0) -> float:
        runs, spent = 0, 0.0
        while not runs or spent < BATCH:
            self._model.ports.write(inputs)
            start = time.perf_counter()
            for entry in self._entries:
                self._model.call(entry)
            spent += time.perf_counter() - start
            runs += 1
        return spent * 1e3 / runs

    def unload(self) -> None:
        pass


class NativeDevice:
    """This machine's processor."""

    clock = 1e-4
    variants = ()

    def __init__(self, cache: Cache) -> None:
        from ..native.jit import cpu_name

        self.name = cpu_name()
        self._cache = cache

    def show(self, status: object) -> None:
        """There is no page."""

    def load(self, artifact: Any, *, deadline: float = 0) -> TimedModel:
        assert isinstance(artifact, NativeProgram)
        return artifact.compile(self._cache)

    def close(self) -> None:
        pass
