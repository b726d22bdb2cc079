"""`--watch`: a command is carried out again, in a process of its own, whenever a file that it names changes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NoReturn

import click

from ..driver.named_files import OUTPUTS, named_files
from .explained import explained
from .terminal import say

FLAG = "--watch"
ARGUMENTS = "webnn_compile.arguments"
"""Where the context of a RepeatableCommand has its arguments as they were given."""


class RepeatableCommand(click.Command):
    """A command that keeps its arguments as they were given, and says of one too many how a list is written."""

    allow_extra_args = True

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta.setdefault(ARGUMENTS, tuple(args))
        rest = super().parse_args(ctx, args)
        if rest and not ctx.resilient_parsing:
            raise click.UsageError(
                f"{rest[0]!r} is one argument too many: an option takes one value, lists have commas "
                "(--targets webgpu,wasm), and names with spaces stand in quotes",
                ctx,
            )
        return rest


def read_files(outputs: Collection[str] = OUTPUTS) -> tuple[Path, ...]:
    """The files that the arguments of the command that is carried out, a RepeatableCommand, name to be read."""
    return tuple(named_files(click.get_current_context().meta[ARGUMENTS], outputs))


def repeat(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> Any:
    """The callback of an eager option FLAG: carries out the rest of the command line until Ctrl-C, and then exits."""
    if wanted and not ctx.resilient_parsing:
        watch([a for a in ctx.meta[ARGUMENTS] if a != FLAG])
    return wanted


def watch(arguments: Sequence[str]) -> NoReturn:
    """Compiles with these arguments at once and after each change, until Ctrl-C: a mistake in a model is mended and
    saved again. What was written is replaced from then on."""
    from ..serve.watch_folder import watching

    written = False
    with explained():
        while True:
            with watching(*files_of(arguments)) as changes:
                force = ["--force"] if written and "--force" not in arguments else []
                command = [sys.executable, "-m", "webnn_compile", *arguments, *force]
                ended = subprocess.run(command, check=False)
                written |= ended.returncode == 0
                say("\nWaiting for a file to change; Ctrl-C ends.", err=True)
                while not changes.count:
                    changes.wait(0, 3600)
    raise AssertionError


def files_of(arguments: Sequence[str]) -> list[Path]:
    """The files that arguments name to be read, and those with the weights of models among them."""
    from ..frontends.onnx.read_model import external_files

    files = named_files(arguments)
    return list(dict.fromkeys([*files, *(data for path in files for data in external_files(path))]))
