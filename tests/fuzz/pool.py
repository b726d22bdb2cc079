"""Worker processes that check cases: one that crashes or hangs is replaced, and its case is a finding."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import queue
import resource
import signal
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from fuzz.case import Case, Outcome

IDLE = 4
"""So many times the limit may pass where a process does not compute: others may be at work on the machine."""
Check = Callable[[Case, Callable[[str], None]], Outcome]


class Pool:
    """`workers` processes that call `check`; `limit` seconds of the processor for
    each phase of a case. `reference` is the phase whose crashes are
    not ours."""

    def __init__(self, check: Check, workers: int, limit: float, *, reference: str = "") -> None:
        self._workers: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
        self._all = [_Worker(check, limit, reference) for _ in range(workers)]
        for worker in self._all:
            self._workers.put(worker)
        self._threads = ThreadPoolExecutor(workers)

    def check(self, case: Case) -> Outcome:
        """Checks one case; blocks until a worker is free."""
        worker = self._workers.get()
        try:
            return worker.check(case)
        finally:
            self._workers.put(worker)

    def check_all(self, cases: Iterable[Case]) -> Iterator[tuple[Case, Outcome]]:
        """As they end; `cases` are drawn from as workers become free."""
        drawn = iter(cases)
        running: dict[Future[Outcome], Case] = {}
        while True:
            while len(running) < len(self._all) and (case := next(drawn, None)) is not None:
                running[self._threads.submit(self.check, case)] = case
            if not running:
                return
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield running.pop(future), future.result()

    def close(self) -> None:
        """Ends the processes: those that are at work, where this was interrupted, at once."""
        idle = [self._workers.get() for _ in range(self._workers.qsize())]
        for worker in self._all:
            if worker in idle:
                worker.stop()
            else:
                worker.kill()  # the thread that waits for it sees that
        self._threads.shutdown()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Worker:
    """A process, started with the first case and again after one that it did not survive."""

    def __init__(self, check: Check, limit: float, reference: str) -> None:
        self._check, self._limit, self._reference = check, limit, reference
        self._process: Any = None

    def check(self, case: Case) -> Outcome:
        if self._process is None:
            self._start()
        self._pipe.send(case)
        phase = "start"
        while True:
            try:
                if not self._wait():
                    return self._ended(f"hangs in phase {phase!r}", phase)
                answer = self._pipe.recv()
            except (EOFError, OSError):
                self._process.join(10)
                code = self._process.exitcode
                name = signal.Signals(-code).name if code is not None and code < 0 else f"exit code {code}"
                return self._ended(f"crashes with {name} in phase {phase!r}", phase)
            if isinstance(answer, Outcome):
                return answer
            phase = answer

    def _wait(self) -> bool:
        """For what the process sends; False where that takes too long."""
        end, spent = time.monotonic() + IDLE * self._limit, _processor_seconds(self._process.pid)
        while not self._pipe.poll(0.5):
            if time.monotonic() > end or _processor_seconds(self._process.pid) > spent + self._limit:
                return False
        return True

    def _start(self) -> None:
        # Not by forking this process, which has threads; the server that is forked has all modules, and is quick.
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["fuzz.check_case"])
        handle, self._errors = tempfile.mkstemp(prefix="fuzz-", suffix=".log")
        os.close(handle)
        self._pipe, theirs = context.Pipe()
        arguments = (theirs, self._check, self._errors)
        self._process = context.Process(target=_serve, args=arguments, daemon=False)
        self._process.start()
        theirs.close()

    def _ended(self, fault: str, phase: str) -> Outcome:
        details = Path(self._errors).read_text(errors="replace")[-3000:]
        self.stop()
        if phase == self._reference:
            return Outcome("the reference crashed or hung", details=f"{fault}\n{details}")
        return Outcome("fault", fault, f"{fault}\n{details}")

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()

    def stop(self) -> None:
        if self._process is not None:
            self._pipe.close()
            self._process.join(0.5)
            self._process.kill()
            self._process.join()
            self._process = None
            Path(self._errors).unlink(missing_ok=True)


def _processor_seconds(pid: int) -> float:
    """Processor time of a process (Linux; elsewhere 0)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _serve(pipe: Connection, check: Check, errors: str) -> None:
    """Answers cases until the pipe ends; before the answer, the phases."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    file = os.open(errors, os.O_WRONLY | os.O_APPEND)
    os.dup2(file, 1)
    os.dup2(file, 2)
    with contextlib.suppress(EOFError, KeyboardInterrupt, BrokenPipeError):
        while True:
            case = pipe.recv()
            pipe.send(check(case, pipe.send))
