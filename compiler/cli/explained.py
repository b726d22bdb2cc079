"""One message and an exit code for whatever ends a command before its time."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import NoReturn

import click

from ..errors import InputError, InternalError
from ..system.explain import explain

OUR_FAULT = (
    "This is a fault of webnn-compile, not a mistake of yours: please report it, with the model and this command "
    "(--debug shows the Python traceback)."
)
INTERRUPTED = 130
"""The exit code of a program that Ctrl-C ended, as shells have it."""

DEBUG = click.option("--debug", is_flag=True, help="Show the Python traceback of an error.")


@contextlib.contextmanager
def explained(
    *, debug: bool = False, phase: Callable[[], str] | None = None, interrupted: str | None = None
) -> Iterator[None]:
    """Ends the program with one message where the block raises: 2 for the user's mistakes, 70 for faults of ours, which
    name the phase; 130 and the text `interrupted` for Ctrl-C. `debug` shows tracebacks."""
    try:
        yield
    except Exception as error:
        # Whoever reads our output may have seen enough: click then ends quietly.
        if isinstance(error, click.exceptions.Exit | click.ClickException | BrokenPipeError):
            raise
        if _is_interrupted(error):
            _end_interrupted(interrupted)
        if debug:
            traceback.print_exc()
        _end(error, phase() if phase is not None else None)
    except KeyboardInterrupt:
        _end_interrupted(interrupted)


def _is_interrupted(error: BaseException | None) -> bool:
    """Whether it was raised while an interruption was handled: a terminal's Ctrl-C ends child processes as well, and a
    browser whose driver has ended cannot be closed any more."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__context__
    return False


def _end_interrupted(message: str | None) -> NoReturn:
    if message is not None:
        click.echo(message, err=True)
    sys.exit(INTERRUPTED)


def _end(error: Exception, phase: str | None) -> None:
    explained = explain(error, phase)
    click.echo(f"error: {explained}", err=True)
    if isinstance(explained, InternalError):
        click.echo(OUR_FAULT, err=True)
    sys.exit(explained.exit_code)


def require(program: str, packages: Sequence[str], extra: str) -> None:
    """Raises InputError where packages of an extra are not installed."""
    missing = [p for p in packages if importlib.util.find_spec(p) is None]
    if missing:
        raise InputError(f"{program} needs {', '.join(missing)}: pip install 'webnn-compile[{extra}]'")
