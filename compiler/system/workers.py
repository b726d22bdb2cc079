"""Processes that work for this one."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from types import TracebackType
from typing import Any, TypeVar

from .collector import collect_less_often

T = TypeVar("T")


class WorkerPool(ProcessPoolExecutor):
    """Started anew, not by forking, since this process may have threads. They end with this process, and leave Ctrl-C
    to it. As a context: it waits for what was submitted, or, where its block raises, ends the processes at once."""

    def __init__(self, processes: int) -> None:
        super().__init__(processes, multiprocessing.get_context("spawn"), initializer=_follow_parent)

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        with _interrupts_blocked():  # as they are in a process that starts here
            return super().submit(fn, *args, **kwargs)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.shutdown()
        else:
            self.kill()

    def kill(self) -> None:
        """Ends the processes in the middle of their work: this one would wait for them when it ends."""
        for process in list((self._processes or {}).values()):
            process.kill()
        # The pool's thread may be blocked in reading a partly written result: it gets EOF once no write end is open.
        if self._result_queue is not None:
            self._result_queue._writer.close()  # type: ignore[attr-defined]
        self.shutdown(cancel_futures=True)


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """SIGINT is blocked in this thread, and so from the start in processes that it starts: until these can ignore it,
    they would end with a traceback. It still reaches this process."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _follow_parent() -> None:
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
    """Counts the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
