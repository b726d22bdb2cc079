"""A limit of time for code of our own that a candidate may make very long."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

from ..errors import ScheduleError

BUILD = 60.0
"""Seconds for a candidate's code: others take less than one."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises ScheduleError in the block where it takes longer. Without effect outside the main thread, and on systems
    without timers."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise ScheduleError(f"its code takes more than {seconds:g} s to make")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
