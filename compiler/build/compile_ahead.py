"""Compiles a model's kernels in several processes, into a cache from which the rest of a build then takes them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from ..codegen.llvm_function import render_kernel
from ..codegen.llvm_module import LlvmModule
from ..codegen.render_host import CODE
from ..ir.nodes import Kernel
from ..pipeline.compile_for import compile_kernel
from ..pipeline.lazy_kernels import LAYOUTS, describe, kernel_key, layouts_to_bytes
from ..pipeline.lower_model import Lowered
from ..system.cache import Cache
from ..system.collector import collect_less_often
from ..system.recursion import deep_recursion
from ..target import Target

FEWEST = 40
"""Kernels for which other processes are worth their start: that takes as long as ten to twenty kernels."""


@dataclass(frozen=True, slots=True)
class _Task:
    key: str
    naive: Kernel
    target: Target
    opt_level: int


def compile_ahead(
    model: Lowered, targets: Sequence[Target], known: Cache, opt_level: int, processes: int | None = None
) -> int:
    """Puts into `known` what it lacks of the model's kernels for `targets`, if that is much; returns how many kernels.

    Never fails: a kernel that cannot be compiled is left to who needs it, and so is everything where processes cannot
    be started. `processes` is by default the number of cores.
    """
    processes = processes or _cores()
    if processes < 2:
        return 0
    tasks = {}
    for target in targets:
        for naive in model.kernels:
            key = kernel_key(describe(naive), target, opt_level)
            if key not in tasks and _lacks(known, key):
                tasks[key] = _Task(key, naive, target, opt_level)
    if len(tasks) < FEWEST:
        return 0
    return _run(list(tasks.values()), known, min(processes, len(tasks) * 2 // FEWEST))


def _lacks(known: Cache, key: str) -> bool:
    # Both are asked for, so that neither counts as known once it is put there.
    return None in [known.get(LAYOUTS, key), known.get(CODE, key)]


def _run(tasks: list[_Task], known: Cache, processes: int) -> int:
    # Not by forking: the progress display has a thread.
    pool = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), initializer=_follow_parent)
    done = 0
    finished = False
    try:
        # The last to be started should not be the largest.
        tasks.sort(key=lambda t: -t.naive.params[-1].size)
        waiting = [(t.key, pool.submit(_compile, t)) for t in tasks]
        for key, future in waiting:
            error = future.exception()
            if error is None:
                layouts, code = future.result()
                known.put(LAYOUTS, key, layouts)
                known.put(CODE, key, code)
                done += 1
        finished = True
    except (OSError, RuntimeError):
        pass
    finally:
        pool.shutdown(wait=finished, cancel_futures=True)
    return done


@deep_recursion()
def _compile(task: _Task) -> tuple[bytes, bytes]:
    kernel = compile_kernel(task.naive, task.target, task.opt_level)
    code = LlvmModule()
    render_kernel(kernel, code)
    return layouts_to_bytes(b.layout for b in kernel.params), code.to_json().encode()


def _follow_parent() -> None:
    """Ctrl-C is the parent's to handle; when that has ended, however it did, so does this process."""
    collect_less_often()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def end() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=end, daemon=True).start()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
