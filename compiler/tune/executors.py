"""Executors of builds: processes beside the measurements, or this one."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from types import TracebackType
from typing import Any, TypeVar

from ..system.workers import WorkerPool, count_cores
from .serial_executor import SerialExecutor

T = TypeVar("T")


class RestartingExecutor(Executor):
    """Processes that are started again after one of them died. A future of that time raises BrokenProcessPool."""

    def __init__(self, processes: int) -> None:
        self._processes = processes
        self._pool = WorkerPool(processes)

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        try:
            return self._pool.submit(fn, *args, **kwargs)
        except BrokenProcessPool:
            self._pool.shutdown()
            self._pool = WorkerPool(self._processes)
            return self._pool.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._pool.shutdown(wait, cancel_futures=cancel_futures)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.__exit__(kind, error, trace)


def open_executor(processes: int | None = None) -> Executor:
    """So many processes, by default one less than there are cores, but one at least; 0: this one."""
    count = max(1, count_cores() - 1) if processes is None else processes
    if count == 0:
        return SerialExecutor()
    return RestartingExecutor(count)
