"""Progress of `webnn-tune`: a bar with the time left, or lines where there is no terminal."""

from __future__ import annotations

import time

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from ..text.escape import terminal_text
from ..tune.status import Status
from .terminal import say

SECONDS = 10.0
"""Between lines."""


class TuneProgress:
    def __init__(self, console: Console) -> None:
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.completed:.0f}/{task.total:.0f} trials  {task.fields[gain]}  {task.fields[left]}"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._lines = not console.is_terminal
        self._last = 0.0
        self._phase = ""
        self._task = self._bar.add_task("starting", total=1, gain="", left="")

    def __enter__(self) -> TuneProgress:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def update(self, s: Status) -> None:
        what = terminal_text(f"{s.phase}: {s.task[:40]}" if s.task else s.phase)
        gain, left = f"{s.gain:.3f} of the default's time", "" if s.left is None else f"{_clock(s.left)} left"
        self._bar.update(self._task, description=what, completed=s.trials, total=s.of, gain=gain, left=left)
        now = time.monotonic()
        if self._lines and (s.phase != self._phase or now - self._last > SECONDS):
            self._last, self._phase = now, s.phase
            say(f"{what}: {s.trials} of {s.of} trials, {gain}{', ' + left if left else ''}", err=True)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}"
