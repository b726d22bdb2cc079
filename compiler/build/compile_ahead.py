"""Compiles a model's kernels in several processes, into a cache that the rest of the build reads."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from ..choices import DEFAULT, Choices, Replay
from ..codegen.llvm_function import render_kernel
from ..codegen.llvm_module import LlvmModule
from ..codegen.render_host import CODE
from ..ir.nodes import Kernel
from ..pipeline.compile_for import KernelChoices, compile_kernel, default_choices
from ..pipeline.lazy_kernels import LAYOUTS, describe, kernel_key, layouts_to_bytes
from ..pipeline.lowered import Lowered
from ..system.cache import Cache
from ..system.collector import collect_less_often
from ..system.recursion import deep_recursion
from ..target import Target

FEWEST = 40
"""Fewest kernels that amortise the start of processes, which takes as long as ten to twenty kernels."""


@dataclass(frozen=True, slots=True)
class _Task:
    """What a process needs to compile one kernel, and the key under which it goes to the cache."""

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
    choices: KernelChoices = default_choices,
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
        for naive in model.kernels:
            chosen = choices(naive, ())
            key = kernel_key(describe(naive), target, opt_level, chosen)
            if key not in tasks and _lacks(cache, key):
                record = Replay(dict(chosen.record), lenient=chosen.lenient) if isinstance(chosen, Replay) else DEFAULT
                tasks[key] = _Task(key, naive, target, opt_level, record)
    if len(tasks) < FEWEST:
        return 0
    return _run(list(tasks.values()), cache, min(processes, len(tasks) * 2 // FEWEST))


def _lacks(cache: Cache, key: str) -> bool:
    # Both are read now, so that neither counts as a hit after it is stored.
    return None in [cache.get(LAYOUTS, key), cache.get(CODE, key)]


def _run(tasks: list[_Task], cache: Cache, processes: int) -> int:
    # Not by forking: the progress display has a thread.
    pool = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), initializer=follow_parent)
    done = 0
    finished = False
    try:
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
        finished = True
    except (OSError, RuntimeError):
        pass
    finally:
        pool.shutdown(wait=finished, cancel_futures=True)
    return done


@deep_recursion()
def _compile(task: _Task) -> tuple[bytes, bytes]:
    kernel = compile_kernel(task.naive, task.target, task.opt_level, choices=task.choices)
    code = LlvmModule()
    render_kernel(kernel, code)
    return layouts_to_bytes(b.layout for b in kernel.params), code.to_json().encode()


def follow_parent() -> None:
    """Leaves Ctrl-C to the parent, and ends this process when the parent has ended."""
    collect_less_often()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def end() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=end, daemon=True).start()


def count_cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
