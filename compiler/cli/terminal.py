"""All that the command lines print goes through here: text of models, records and devices is escaped on its way."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..errors import InputError
from ..text.escape import terminal_lines, terminal_text


def say(text: object, *, label: str = "", err: bool = False) -> None:
    """Lines, after a bold `label` in the first."""
    with _writing(err=err):
        click.echo((click.style(terminal_text(label), bold=True) if label else "") + terminal_lines(text), err=err)


@contextmanager
def _writing(*, err: bool) -> Iterator[None]:
    """InputError where standard output cannot be written, as on a full disk; a closed pipe is no error."""
    try:
        yield
    except OSError as error:
        if err or isinstance(error, BrokenPipeError):
            raise
        raise InputError(f"standard output cannot be written: {error.strerror or error}") from error


class TerminalLog(logging.Handler):
    """Writes what is logged, tracebacks among it, to standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        say(self.format(record), err=True)


def say_light_on_dark(line: str) -> None:
    """Whatever the terminal's own colours are."""
    click.secho(terminal_text(line), fg="bright_white", bg="black")


def cell(text: object) -> Text:
    """For Rich, which would take [...] and :...: in a string for markup."""
    return Text(terminal_text(text))


def show_table(
    table: Table, rows: Iterable[Sequence[object]], *, width: int | None = None, stderr: bool = False
) -> None:
    """With these rows, as wide as the terminal, or so many columns."""
    for row in rows:
        table.add_row(*map(cell, row))
    with _writing(err=stderr):
        Console(width=width, stderr=stderr).print(table)


def is_terminal() -> bool:
    """Whether standard output is one."""
    return Console().is_terminal


def error_console() -> Console:
    """For what Rich shows while the program works; its texts are made by `cell` or `terminal_text`."""
    return Console(stderr=True)
