"""A bound on the time and memory of a compilation as a whole, whatever part of it takes them.

Estimates (`limits.py`) refuse what can be foreseen, with the node at fault. What cannot, a search, a simplification or
a module of LLVM that takes unexpectedly long, ends here: a thread looks at clock and memory, and interrupts the one
that compiles.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

from ..errors import InputError
from .limits import format_size

INTERVAL = 0.05
"""Seconds between two looks."""
AGAIN = 1.0
"""Seconds until the next interrupt: one that comes in a finalizer, or while garbage is collected, Python drops."""
STUCK = 0.5
"""Seconds from there until code that is not Python's, which cannot be interrupted, is ended with the process."""
OWN = 512 * 2**20
"""Bytes that the compiler itself may take besides `--compile-memory`, which estimates by the model's constants."""
_PROC = Path("/proc")
_NAMED = ("node", "call", "kernel", "group", "tensor")
"""Variables of the compiler's functions whose value has a name that says where it is in the model."""

Excess = tuple[str, str]
"""Which limit is exceeded, and what to do."""
_Handler = Callable[[int, FrameType | None], object] | int | None


class Exceeded(BaseException):
    """Raised in the thread that compiles. No Exception: handlers of a model's faults must not take it for one."""


@contextlib.contextmanager
def within(
    seconds: float | None,
    memory: int | None,
    phase: Callable[[], str],
    end: Callable[[str], None] | None = None,
) -> Iterator[None]:
    """Raises InputError where the block takes more than so many seconds, or lets this process and those that it starts
    grow by more than so many bytes; None: no limit. The message says the phase, and the node that was at work.

    `end` is called with the message where the block cannot be interrupted, and has to end the process; without it the
    error comes when that code has returned. Where there is no /proc, memory is that of this process alone, and counts
    where it grows beyond the largest that it was before; on Windows it is not seen.
    """
    if (seconds is None and memory is None) or sys.platform == "emscripten":
        yield
        return
    watch = _Watch(seconds, memory, phase, end)
    try:
        with watch.watching():
            yield
        if watch.message:  # the interrupt was dropped, and the block ended before the next
            raise Exceeded
    except Exceeded:
        if not watch.message:  # the limits of a block around this one
            raise
        raise InputError(watch.message) from None
    except Exception as error:
        if watch.message:  # of a library that made another error of it
            raise InputError(watch.message) from error
        raise


class _Watch:
    def __init__(
        self,
        seconds: float | None,
        memory: int | None,
        phase: Callable[[], str],
        end: Callable[[str], None] | None,
    ) -> None:
        self.message = ""
        self._seconds, self._memory, self._phase, self._end = seconds, memory, phase, end
        self._thread = threading.get_ident()
        self._started, self._before = time.monotonic(), resident()
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._signal = _free_signal()

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        watcher = threading.Thread(target=self._watch, daemon=True)
        before = signal.signal(self._signal, _interrupt) if self._signal is not None else None
        watcher.start()
        try:
            yield
        finally:
            while True:  # an interrupt may come right here: the block has ended, and nothing may come after it
                try:
                    self._stop(before)
                    break
                except Exceeded:
                    continue

    def _stop(self, before: _Handler) -> None:
        with self._lock:
            self._over.set()
        if self._signal is not None:
            signal.signal(self._signal, before)
        else:
            # An interrupt that is still to come does so here. To take it back would leave a flag of the interpreter
            # set for good, with which Python 3.11 never gets beyond the first call that a profiler sees.
            for _ in range(100):
                pass

    def _watch(self) -> None:
        while not self._over.wait(INTERVAL):
            if (exceeded := self._exceeded()) is not None:
                self.message = described(exceeded, self._phase(), sys._current_frames().get(self._thread))
                self._raise()
                while not self._over.wait(AGAIN):
                    self._raise()
                    if not self._over.wait(STUCK) and self._end is not None:
                        with self._lock:
                            if not self._over.is_set():
                                self._end(self.message)
                return

    def _exceeded(self) -> Excess | None:
        if self._seconds is not None and time.monotonic() - self._started > self._seconds:
            return (
                f"--max-seconds {self._seconds:g}: compiling took longer",
                "allow more, or give the model smaller or fixed sizes (in Python: max_seconds)",
            )
        if self._memory is not None and (grown := resident() - self._before) > self._memory + OWN:
            return excess_of_memory(self._memory, grown)
        return None

    def _raise(self) -> None:
        with self._lock:
            if self._over.is_set():
                return
            if self._signal is not None:
                signal.pthread_kill(self._thread, self._signal)
            else:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread), ctypes.py_object(Exceeded))


def excess_of_memory(memory: int, grown: int) -> Excess:
    """For a process that has grown by so many bytes, where the limit is `memory`."""
    return (
        f"--compile-memory {format_size(memory)}: compiling took {format_size(grown)}, and "
        f"{format_size(OWN)} more than the limit are the compiler's own",
        "allow more, or give the model smaller or fixed sizes (in Python: compile_memory)",
    )


def described(excess: Excess, phase: str, frame: FrameType | None) -> str:
    """The error message, which names the node at which `frame` or a caller of its is at work."""
    return f"{excess[0]}; it was at {phase}{_node_of(frame)}: {excess[1]}"


def _free_signal() -> int | None:
    """A signal that interrupts waits, too; None in other threads than the main one, and where it is in use."""
    number = getattr(signal, "SIGALRM", None)
    if number is None or threading.current_thread() is not threading.main_thread():
        return None
    return number if signal.getsignal(number) is signal.SIG_DFL else None


def _interrupt(_: int, __: FrameType | None) -> None:
    raise Exceeded


def _node_of(frame: FrameType | None) -> str:
    """The node or kernel of the innermost function that has one, for a message."""
    while frame is not None:
        for variable in _NAMED:
            found = frame.f_locals.get(variable)
            name, op = (getattr(found, field, "") for field in ("name", "op"))
            if isinstance(name, str) and name:
                return f" ({variable} {name!r}{f', {op}' if isinstance(op, str) and op else ''})"
        frame = frame.f_back
    return ""


def resident() -> int:
    """Bytes of memory that this process and those that it started hold; without Linux's /proc the most that this
    process has held, and 0 on Windows."""
    try:
        own = _PROC / "self"
        started = [pid for task in (own / "task").iterdir() for pid in (task / "children").read_text().split()]
        return sum(_resident(folder) for folder in (own, *(_PROC / pid for pid in started)))
    except OSError:
        return _peak()


def _peak() -> int:
    try:
        import resource  # which Windows lacks
    except ImportError:
        return 0
    # getrusage(2): kilobytes, but bytes on macOS.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _resident(folder: Path) -> int:
    """Without what a process shares, such as the text of libraries."""
    try:
        _, held, shared, *_ = map(int, (folder / "statm").read_text().split())
    except (OSError, ValueError):  # it has ended
        return 0
    return (held - shared) * os.sysconf("SC_PAGE_SIZE")
