"""The command line: `webnn-compile model.onnx --out bundle/`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click
from rich.console import Console
from rich.status import Status

from . import __version__
from .errors import InputError, WebnnCompileError


class ShapeOption(click.ParamType[tuple[str, tuple[int, ...]]]):
    """NAME=1x3x224x224"""

    name = "name=AxBxC"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, tuple[int, ...]]:
        name, _, dims = str(value).rpartition("=")
        parts = dims.lower().split("x") if dims else []
        if not name or not all(p.isdigit() for p in parts):
            self.fail(f"{value!r} is not of the form input=1x3x224x224", param, ctx)
        return name, tuple(int(p) for p in parts)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder to write the bundle to.")
@click.option(
    "--shape",
    "shapes",
    type=ShapeOption(),
    multiple=True,
    help="Shape of an input whose dimensions are free. Repeatable.",
)
@click.option("--targets", default="wasm", show_default=True, help="What the bundle can run on, comma-separated.")
@click.option(
    "--opt-level",
    type=click.IntRange(0, 2),
    default=2,
    show_default=True,
    help="0: naive loops. 1: graph passes and schedules, all tensors row-major. 2: channels-last layouts too.",
)
@click.option(
    "--verify", is_flag=True, help="Compare with onnxruntime on random inputs before writing (extra [verify])."
)
@click.option(
    "--dump", metavar="after:STAGE", help="Print the model as it is after a stage, such as after:schedule_cpu."
)
@click.option("--report", type=click.Path(path_type=Path), help="Write sizes, kernels and times to this JSON file.")
@click.option("--wasm-linker", default="builtin", show_default=True, help="builtin, wasm-ld or emcc.")
@click.option("--force", is_flag=True, help="Replace a bundle that is already there.")
@click.version_option(__version__)
def main(
    model: Path,
    out: Path,
    shapes: tuple[tuple[str, tuple[int, ...]], ...],
    targets: str,
    opt_level: int,
    verify: bool,
    dump: str | None,
    report: Path | None,
    wasm_linker: str,
    force: bool,
) -> None:
    """Compile MODEL (an ONNX file) into a folder that any web server can host.

    \b
    Example:  webnn-compile resnet18.onnx --out bundle/ --shape input=1x3x224x224
    """
    from .build import Options, build
    from .report import print_report, write_report

    console = Console(stderr=True)
    try:
        if report is not None and not report.resolve().parent.is_dir():
            raise InputError(f"--report {report}: the folder {report.resolve().parent} does not exist")
        options = Options(
            shapes=dict(shapes),
            targets=tuple(t.strip() for t in targets.split(",") if t.strip()),
            opt_level=opt_level,
            verify=verify,
            dump=_stage(dump),
            linker=wasm_linker,
            force=force,
        )
        with _Progress(console) as progress:
            result = build(model, out, options, progress.phase, click.echo)
        if report is not None:
            write_report(result, report)
        print_report(result, out, Console())
    except WebnnCompileError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(error.exit_code)


def _stage(dump: str | None) -> str | None:
    if dump is None:
        return None
    prefix, _, stage = dump.partition(":")
    if prefix != "after" or not stage:
        raise InputError(f"--dump {dump}: write --dump after:STAGE, such as after:schedule_cpu")
    return stage


class _Progress:
    """The phase at work: a spinner on a terminal, a line per phase elsewhere."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status: Status | None = None

    def __enter__(self) -> _Progress:
        if self._console.is_terminal and not os.environ.get("CI"):
            self._status = self._console.status("starting")
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    def phase(self, name: str) -> None:
        if self._status is not None:
            self._status.update(name)
        else:
            click.echo(f"{name} ...", err=True)
