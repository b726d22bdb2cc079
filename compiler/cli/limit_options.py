"""--compile-memory, --max-seconds and --page-memory: how much compiling, and the model in a page, may take."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Any

import click

from ..system.limits import default_memory, parse_size
from ..system.watch_limits import within
from .explained import end_now


class SizeOption(click.ParamType[int]):
    """4GiB: bytes."""

    name = "size"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        size = parse_size(str(value))
        if size is None:
            self.fail(f"{value!r} is not a size such as 4GiB or 500MiB", param, ctx)
        return size


class SecondsOption(click.FloatRange):
    """A number in the range, which NaN is not."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        seconds = super().convert(value, param, ctx)
        if isnan(seconds):
            self.fail(f"{value!r} is not a number of seconds", param, ctx)
        return seconds


@dataclass(frozen=True, slots=True)
class Limits:
    """Bytes and seconds; None is no limit, but for `compile_memory`, for which it is a share of the machine's."""

    compile_memory: int | None
    max_seconds: float | None
    page_memory: int | None

    def watched(self, phase: Callable[[], str], out: Path | None = None) -> AbstractContextManager[None]:
        """A block that raises InputError where it takes more, and says the phase; where it cannot be interrupted the
        process ends, without what was half written beside `out`."""
        memory = default_memory() if self.compile_memory is None else self.compile_memory
        return within(self.max_seconds, memory, phase, functools.partial(end_now, out=out))


_OPTIONS = (
    click.option(
        "--compile-memory",
        type=SizeOption(),
        metavar="4GiB",
        help="Memory that compiling may take: what its constants will, by estimate, and what it does, with half a GiB "
        "for the compiler itself. By default three quarters of this machine's.",
    ),
    click.option(
        "--max-seconds",
        type=SecondsOption(min=0, min_open=True),
        metavar="SECONDS",
        help="Time that compiling may take. What takes longer is an error, and nothing is written.",
    ),
    click.option(
        "--page-memory",
        type=SizeOption(),
        metavar="120MB",
        help="Memory that the model may take in a page, on each backend, at its peak: fewer convolutions are computed "
        "by Winograd's algorithm, whose filters take up to four times as much as the model's.",
    ),
)


def limit_options(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the options to a command, which receives them as `limits`."""

    @functools.wraps(command)
    def wrapped(compile_memory: int | None, max_seconds: float | None, page_memory: int | None, **others: Any) -> None:
        command(limits=Limits(compile_memory, max_seconds, page_memory), **others)

    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped
