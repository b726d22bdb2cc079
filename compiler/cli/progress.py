"""Progress of the command line."""

from __future__ import annotations

import os

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner

from .terminal import cell, say


class Progress:
    """The phase at work: a spinner on a terminal; a line per phase elsewhere, and where `plain`."""

    def __init__(self, console: Console, *, plain: bool = False) -> None:
        self.current = "start"
        lively = console.is_terminal and not console.is_dumb_terminal and not plain and not os.environ.get("CI")
        self._spinner = Spinner("dots", cell("starting")) if lively else None
        # Standard output stays as it is: it may go to a file while this is shown on a terminal.
        self._live = Live(self._spinner, console=console, transient=True, redirect_stdout=False, redirect_stderr=False)

    def __enter__(self) -> Progress:
        if self._spinner is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._spinner is not None:
            self._live.stop()

    def phase(self, name: str) -> None:
        """The next phase begins."""
        self.current = name
        if self._spinner is not None:
            self._spinner.update(text=cell(name))
        else:
            say(f"{name} ...", err=True)
