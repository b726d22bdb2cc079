"""Executors of builds: processes beside the measurements, or this one."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from ..build.compile_ahead import count_cores, follow_parent
from .serial_executor import SerialExecutor

T = TypeVar("T")


class RestartingExecutor(Executor):
    """Processes that are started again after one of them died. A future of that time raises BrokenProcessPool."""

    def __init__(self, processes: int) -> None:
        self._processes = processes
        self._pool = self._open()

    def _open(self) -> ProcessPoolExecutor:
        spawn = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self._processes, spawn, initializer=follow_parent)

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        try:
            return self._pool.submit(fn, *args, **kwargs)
        except BrokenProcessPool:
            self._pool.shutdown()
            self._pool = self._open()
            return self._pool.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._pool.shutdown(wait, cancel_futures=cancel_futures)


def open_executor(processes: int | None = None) -> Executor:
    """So many processes, by default one less than there are cores, but one at least; 0: this one."""
    count = max(1, count_cores() - 1) if processes is None else processes
    if count == 0:
        return SerialExecutor()
    return RestartingExecutor(count)
