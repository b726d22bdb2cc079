"""Compiles a model's kernels in several processes, into a cache that the rest of the build reads."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from ..choices import DEFAULT, Choices
from ..codegen.llvm_function import render_kernel
from ..codegen.llvm_module import LlvmModule
from ..codegen.render_host import CODE
from ..cpu.compile_for_cpu import compile_kernel
from ..ir.nodes import Kernel
from ..pipeline.lazy_kernels import LAYOUTS, describe, kernel_key, layouts_to_bytes
from ..pipeline.lowered import Lowered
from ..pipeline.plan_kernels import KernelPlan
from ..system.cache import Cache
from ..system.recursion import deep_recursion
from ..system.workers import WorkerPool, count_cores
from ..target import Target

FEWEST = 40
"""Fewest kernels that amortise the start of processes, which takes as long as ten to twenty kernels."""


@dataclass(frozen=True, slots=True)
class _Task:
    """The operands by which a process compiles one kernel, and the key of the result in the cache."""

    key: str
    naive: Kernel
    target: Target
    opt_level: int
    choices: Choices


def compile_ahead(
    model: Lowered,
    targets: Sequence[Target],
    cache: Cache,
    opt_level: int,
    processes: int | None = None,
    plan: KernelPlan | None = None,
) -> int:
    """Adds the model's kernels for `targets` that `cache` lacks, if they are many; returns the number of kernels.

    Never fails: a kernel that cannot be compiled is skipped here and reported where it is used, as are all kernels if
    processes cannot be started. `processes` is by default the number of cores.
    """
    processes = processes or count_cores()
    if processes < 2:
        return 0
    tasks = {}
    for target in targets:
        for i, naive in enumerate(model.kernels):
            chosen = plan[i].choices if plan else DEFAULT
            key = kernel_key(describe(naive), target, opt_level, chosen)
            if key not in tasks and _lacks(cache, key):
                tasks[key] = _Task(key, naive, target, opt_level, chosen)
    if len(tasks) < FEWEST:
        return 0
    return _run(list(tasks.values()), cache, min(processes, len(tasks) * 2 // FEWEST))


def _lacks(cache: Cache, key: str) -> bool:
    # Both are read now, so that neither counts as a hit after it is stored.
    return None in [cache.get(LAYOUTS, key), cache.get(CODE, key)]


def _run(tasks: list[_Task], cache: Cache, processes: int) -> int:
    done = 0
    with suppress(OSError, RuntimeError), WorkerPool(processes) as pool:
        # Largest first, so that no large kernel starts last.
        tasks.sort(key=lambda t: -t.naive.params[-1].size)
        waiting = [(t.key, pool.submit(_compile, t)) for t in tasks]
        for key, future in waiting:
            error = future.exception()
            if error is None:
                layouts, code = future.result()
                cache.put(LAYOUTS, key, layouts)
                cache.put(CODE, key, code)
                done += 1
    return done


@deep_recursion()
def _compile(task: _Task) -> tuple[bytes, bytes]:
    kernel = compile_kernel(task.naive, task.target, task.opt_level, choices=task.choices)
    code = LlvmModule()
    render_kernel(kernel, code)
    return layouts_to_bytes(b.layout for b in kernel.params), code.to_json().encode()
