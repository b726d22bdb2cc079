"""One message and an exit code for each error or signal that ends a command early."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import click

from ..bundle.folder import remove_unfinished
from ..errors import InputError, InternalError
from ..frontends.fetch_model import is_address, not_fetched
from ..text.explain import explain
from .terminal import say

OUR_FAULT = (
    "This is a fault of webnn-compile, not a mistake of yours: please report it, with the model and this command "
    "(--debug shows the Python traceback)."
)
BY_SIGNAL = 128
"""The exit code of a program that a signal ended, as shells have it, is the signal's number and this."""
INTERRUPTED = BY_SIGNAL + signal.SIGINT
"""The exit code after Ctrl-C."""


class Ended(KeyboardInterrupt):
    """A signal to end came; what the program holds is given back as after Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


class FileOption(click.Path):
    """Any path but an empty one, which would be this folder, as a shell's variable that is not set would have it: the
    compiler reports what else is wrong with one."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, readable=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("the path is empty; give one", param, ctx)
        return super().convert(value, param, ctx)


class TextOption(click.ParamType[str]):
    """Any text but an empty one, which a shell's variable that is not set would be."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value)
        if not text.strip():
            self.fail("the value is empty; give one, or leave the option out", param, ctx)
        return text


DEBUG = click.option("--debug", is_flag=True, help="Show the Python traceback of an error.")
FILE = FileOption()
TEXT = TextOption()


class ModelOption(click.ParamType[str | Path]):
    """The path of a model's file, or an address (`frontends/fetch_model`), which stays a string."""

    name = "model"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str | Path:
        if isinstance(value, str) and is_address(value):
            return value
        if reason := not_fetched(value):
            self.fail(reason, param, ctx)
        path: Path = FILE.convert(value, param, ctx)
        return path


MODEL = ModelOption()


@contextlib.contextmanager
def explained(
    *, debug: bool = False, phase: Callable[[], str] | None = None, interrupted: str | None = None
) -> Iterator[None]:
    """Ends the program with one message where the block raises: 2 for the user's mistakes, 70 for faults of ours, which
    name the phase; 128 and the signal's number, and the text `interrupted`, for Ctrl-C, SIGTERM and SIGHUP. `debug`
    shows tracebacks."""
    arrived: list[KeyboardInterrupt] = []
    try:
        with _raising_signals(arrived):
            yield
    except Exception as error:
        # A closed pipe is no error: click ends the program without a message.
        if isinstance(error, click.exceptions.Exit | click.ClickException | BrokenPipeError):
            raise
        if (cause := _interruption(error) or next(iter(arrived), None)) is not None:
            _end_interrupted(cause, interrupted)
        if debug:
            say(traceback.format_exc(), err=True)
        _end(error, phase() if phase is not None else None)
    except KeyboardInterrupt as cause:
        _end_interrupted(cause, interrupted)


@contextlib.contextmanager
def _raising_signals(arrived: list[KeyboardInterrupt]) -> Iterator[None]:
    """SIGTERM (systemd, docker stop, kill) and SIGHUP (a terminal that is closed) raise Ended in the block, once: they
    would leave its folders and processes behind. Signals that the caller ignores or handles stay as they are.
    `arrived` gets what Ctrl-C raises, too: where that is in a finalizer, Python passes over it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, _: object) -> None:
        for n in handled:
            signal.signal(n, signal.SIG_IGN)
        raise Ended(number)

    def interrupt(number: int, frame: FrameType | None) -> None:
        arrived.append(KeyboardInterrupt())
        signal.default_int_handler(number, frame)

    signals = (getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP"))
    handled = [n for n in signals if n is not None and signal.getsignal(n) is signal.SIG_DFL]
    for n in handled:
        signal.signal(n, end)
    interrupts = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if interrupts:
        signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        if interrupts:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        for n in handled:
            signal.signal(n, signal.SIG_DFL)


def _interruption(error: BaseException | None) -> KeyboardInterrupt | None:
    """The interrupt during whose handling `error` was raised: a terminal's Ctrl-C ends child processes as well, and a
    browser whose driver has ended cannot be closed any more."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error


def _end_interrupted(cause: KeyboardInterrupt, message: str | None) -> NoReturn:
    if message is not None:
        say(message, err=True)
    sys.exit(BY_SIGNAL + cause.number if isinstance(cause, Ended) else INTERRUPTED)


def _end(error: Exception, phase: str | None) -> None:
    explained = explain(error, phase)
    say(f"error: {explained}", err=True)
    if isinstance(explained, InternalError):
        say(OUR_FAULT, err=True)
    sys.exit(explained.exit_code)


def end_now(message: str, out: Path | None) -> NoReturn:
    """Ends the process with this error, where its main thread cannot: what was half written beside `out` is removed."""
    if out is not None:
        remove_unfinished(out)
    say(f"error: {message}", err=True)
    os._exit(InputError.exit_code)


def require(program: str, packages: Sequence[str], extra: str) -> None:
    """Raises InputError where packages of an extra are not installed."""
    missing = [p for p in packages if importlib.util.find_spec(p) is None]
    if missing:
        raise InputError(f"{program} needs {', '.join(missing)}: pip install 'webnn-compile[{extra}]'")
