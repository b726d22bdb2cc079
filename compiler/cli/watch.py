"""`--watch`: a command is carried out again, in a process of its own, whenever a file that it names changes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import click

from .explained import explained
from .terminal import say

FLAG = "--watch"
_ARGUMENTS = "webnn_compile.arguments"


class RepeatableCommand(click.Command):
    """A command that keeps its arguments as they were given, and says of one too many how a list is written."""

    allow_extra_args = True

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_ARGUMENTS] = tuple(args)
        rest = super().parse_args(ctx, args)
        if rest and not ctx.resilient_parsing:
            raise click.UsageError(
                f"{rest[0]!r} is one argument too many: an option takes one value, lists have commas "
                "(--targets webgpu,wasm), and names with spaces stand in quotes",
                ctx,
            )
        return rest


def repeat(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> Any:
    """The callback of an eager option FLAG: carries out the rest of the command line until Ctrl-C, and then exits."""
    if wanted and not ctx.resilient_parsing:
        watch([a for a in ctx.meta[_ARGUMENTS] if a != FLAG])
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
    """The files that arguments name, also behind an "=", and those with the weights of models among them."""
    from ..frontends.onnx.read_model import external_files

    named = [Path(text) for a in arguments for text in _texts(a) if text]
    files = [path for path in named if _is_file(path)]
    return list(dict.fromkeys([*files, *(data for path in files for data in external_files(path))]))


def _texts(argument: str) -> set[str]:
    """It, and what may be a file in it: behind a name, and behind that of one of several models."""
    texts = {argument, argument.partition(":")[2]}
    return {part for text in texts for part in (text, text.partition("=")[2], text.rpartition("=")[2])}


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a text too long for a name
        return False
