"""Our own models on this machine's processor."""

from __future__ import annotations

import statistics
import time
from dataclasses import replace
from itertools import pairwise

import numpy as np
from webnn_compile.codegen.render_host import segment_entry
from webnn_compile.costs import CPU_COSTS
from webnn_compile.cpu.compile_for_cpu import compile_for_cpu
from webnn_compile.execution.native_model import NativeModel
from webnn_compile.native.jit import host_target
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.pipeline.lowered import Lowered
from webnn_compile.program.program import write_tensor
from webnn_compile.system.cache import open_cache
from webnn_compile.target import Target, layouts_for
from webnn_compile.tensor.choose_tile import choose_tile

from .cases import Case


def lower(case: Case, target: Target, *, fast_math: bool, fixed: bool = True) -> Lowered:
    """The case's naive kernels; `fast_math` allows Winograd's algorithm, `fixed` are those for its sizes alone."""
    choose = choose_tile(CPU_COSTS) if fast_math else None
    return lower_model(case.graph(fixed=fixed), policy=layouts_for(target), choose=choose)


def compile_natively(case: Case, threads: int, *, fast_math: bool, fixed: bool = False) -> NativeModel:
    cache = open_cache()
    lowered = lower(case, host_target(), fast_math=fast_math, fixed=fixed)
    program = compile_for_cpu(lowered, host_target(), cache=cache)
    return NativeModel(program, threads, cache)


def time_kernels(case: Case, lowered: Lowered, runs: int) -> list[list[float]]:
    """Milliseconds of each launch, one list for each of `runs` inferences."""
    program = compile_for_cpu(lowered, host_target(), cache=open_cache())
    count = len(program.steps)
    model = NativeModel(replace(program, segments=tuple((n, n + 1) for n in range(count))))
    inputs = case.inputs()
    times = []
    for _ in range(runs + 3):
        for spec in program.inputs:
            write_tensor(model.arena, spec, np.asarray(inputs[spec.name]))
        stamps = [time.perf_counter()]
        for n in range(count):
            model.call(segment_entry(n))
            stamps.append(time.perf_counter())
        times.append([(b - a) * 1e3 for a, b in pairwise(stamps)])
    return times[3:]


def medians(times: list[list[float]]) -> list[float]:
    """The median of each launch over all inferences."""
    return [statistics.median(each) for each in zip(*times, strict=True)]
