"""The command line of the tuner: `webnn-tune model.onnx --target wasm`, `webnn-tune show records.jsonl`."""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import click
from rich.table import Table

from ..driver.options import Options
from ..errors import InputError
from ..frontends.fetch_model import located
from ..records.record_file import RecordWriter, read_records
from ..records.recorded_choices import is_of
from ..system.put_files import check_distinct
from ..tune.device import Device
from ..tune.device_error import DeviceError
from ..tune.executors import open_executor
from ..tune.local_device import local_device
from ..tune.problem import TUNED, Problem
from ..tune.status import Settings, Status, Summary
from ..tune.summarise import Line, summarise
from ..tune.tuner import tune
from .explained import DEBUG, FILE, MODEL, TEXT, explained, require
from .model_options import model_options
from .terminal import cell, error_console, say, show_table
from .time_option import TimeOption
from .tune_progress import TuneProgress
from .watch import RepeatableCommand, read_files

PACKAGES = ("sklearn",)
"""Packages of the extra [tune] that every search requires, and those that a device in a browser requires besides."""
REMOTE_PACKAGES = ("websockets", "playwright")
WAIT = 30.0
"""Seconds to wait for a device of a broker."""
ENDED = {
    "device": "the device cannot run the model",
    "timeout": "the device does not answer",
    "lost": "the device was lost",
}
"""How a search ended, by the kind of the DeviceError."""
RECORDS = "--records"
KEPT = "all measurements so far are in the records"


class _Commands(click.Group):
    """A first word that is no command is a model."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = [a for a in args if not a.startswith("-")]
        if words and words[0] not in self.commands:
            args = ["run", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="webnn-compile")
def main() -> None:
    """Find faster schedules for a model's kernels by measuring them on the device that will run it.

    \b
    webnn-tune model.onnx --target wasm --device browser:chromium --time-budget 10m
    webnn-compile model.onnx --out bundle/ --records records.jsonl
    webnn-tune show records.jsonl

    `webnn-tune run --help` lists the options of the first.
    """


@main.command(cls=RepeatableCommand)
@click.argument("model", type=MODEL)
@click.option("--target", type=click.Choice(TUNED), required=True, help="What the kernels are for.")
@click.option(
    "--device",
    type=TEXT,
    metavar="DEVICE",
    help="browser:chromium or browser:firefox starts one; a name of `webnn-rpc devices`, or any, is a tab that has "
    "joined --broker. By default browser:chromium; native, opencl and cuda are this machine.",
)
@click.option(
    "--broker",
    type=TEXT,
    envvar="WEBNN_RPC_BROKER",
    default="http://127.0.0.1:8765",
    show_default=True,
    metavar="URL",
    help="Of a device by name: the broker's address, with its token or with WEBNN_RPC_TOKEN set.",
)
@click.option("--trials", type=click.IntRange(1), default=200, show_default=True, help="Candidates to try at most.")
@click.option("--time-budget", "seconds", type=TimeOption(), metavar="10m", help="Take no longer than about this.")
@click.option(
    RECORDS,
    type=FILE,
    metavar="FILE",
    default="records.jsonl",
    show_default=True,
    help="Where measurements are added; those that are there are not made again.",
)
@model_options
@click.option(
    "--precision",
    type=TEXT,
    metavar="f32|f16",
    default="f32",
    show_default=True,
    help="As webnn-compile's; cuda has tf32, too.",
)
@click.option("--threads", type=click.IntRange(1), default=1, show_default=True, help="Of wasm and native.")
@click.option("--layers/--no-layers", default=True, show_default=True, help="Search Winograd's tiles and splits, too.")
@click.option("--headed", is_flag=True, help="Show the browser that is started.")
@click.option("--processes", type=click.IntRange(0), help="That build candidates; by default one less than cores.")
@click.option("--seed", type=int, default=0, help="Of the random numbers.")
@DEBUG
def run(
    model: str | Path,
    target: str,
    device: str | None,
    broker: str,
    trials: int,
    seconds: float | None,
    records: Path,
    computed: Options,
    precision: str,
    threads: int,
    layers: bool,
    headed: bool,
    processes: int | None,
    seed: int,
    debug: bool,
) -> None:
    """Tune MODEL, and add what was measured to the records."""
    with explained(debug=debug, interrupted=f"interrupted; {KEPT}: the same command goes on from there"):
        path = located(model, lambda line: say(line, err=True))
        read = read_files(("--save-quantized", RECORDS))
        check_distinct([(RECORDS, records), *computed.outputs], (path, *read))
        problem = Problem(path, target, replace(computed, precision=precision, threads=threads, read=read))
        earlier = read_records([records]).records if records.exists() else ()
        with contextlib.ExitStack() as opened:
            writer = RecordWriter(records)
            opened.callback(writer.close)
            chosen = opened.enter_context(_open_device(problem, device, broker, headed=headed))
            problem.use_variants(chosen.variants[:1])
            executor = opened.enter_context(open_executor(processes))
            progress = opened.enter_context(TuneProgress(error_console()))
            settings = Settings(trials=trials, seconds=seconds, layers=layers, seed=seed)

            def observe(status: Status) -> None:
                progress.update(status)
                chosen.show(status)

            try:
                summary = tune(problem, chosen, executor, settings, writer.append, earlier, observe)
            except DeviceError as error:
                raise InputError(f"{ENDED[error.kind]}: {error}; {KEPT}") from None
        _print_summary(summary, problem, chosen, records)


@contextlib.contextmanager
def _open_device(problem: Problem, device: str | None, broker: str, *, headed: bool) -> Iterator[Device]:
    target, threads = problem.target, problem.options.threads
    require("webnn-tune", PACKAGES if problem.is_local else (*REMOTE_PACKAGES, *PACKAGES), "tune")
    if problem.is_local:
        if device is not None:
            raise InputError(f"--device {device}: the target {target} is tuned on this machine; leave --device out")
        yield local_device(problem)
        return
    from webnn_compile.rpc.client import RpcError, connect

    from .remote_device import RemoteDevice, browser_device

    options = {"threads": threads}  # of a bundle's `load`, where a GPU's backends take no more than one
    kind, _, name = (device or "browser:chromium").partition(":")
    try:
        if kind == "browser":
            if name not in ("chromium", "firefox"):
                raise InputError(f"--device {device}: give browser:chromium, browser:firefox or a device's name")
            with browser_device(name, target, options, headed=headed) as opened:
                yield opened
            return
        if kind in ("chromium", "firefox"):
            raise InputError(f"--device {device}: to start one, give browser:{kind}")
        with (
            connect(broker) as session,
            contextlib.closing(
                RemoteDevice(session, device or "any", target, options, WAIT, reconnect=partial(connect, broker))
            ) as opened,
        ):
            yield opened
    except RpcError as error:
        raise InputError(str(error)) from None


DISTURBED = 0.1
"""A share of measurements that is worth a warning."""


def _print_summary(summary: Summary, problem: Problem, device: Device, records: Path) -> None:
    failed = f", {summary.failed} of them failed" if summary.failed else ""
    say(f"{problem.name} on {device.name}: {summary.trials} candidates for {summary.tasks} kernels and layers{failed}")
    if summary.exhausted:
        say("No other schedule is worth a trial.")
    if summary.disturbed > DISTURBED:
        say(
            f"{summary.disturbed:.0%} of the measurements were disturbed, and do not count: other programs use the "
            "processor, or it is throttled. A quiet machine gives better records."
        )
    if summary.whole is None or not summary.chosen:
        say("None of them is faster than the default in the whole model.")
        return
    say(
        f"With {len(summary.chosen)} of them the model takes {summary.whole:.3f} of its time by default. Use them:\n"
        f"  webnn-compile MODEL --out bundle/ --records {records}"
    )


@main.command(cls=RepeatableCommand)
@click.argument("records", type=FILE, nargs=-1, required=True)
@click.option("--target", type=TEXT, help="Of this target alone.")
@click.option("--for-device", type=TEXT, metavar="NAME", help="Of this device alone, by its name or part of it.")
@click.option("--chart", type=FILE, metavar="FILE", help="Draw the progress of the search as SVG or PNG.")
def show(records: tuple[Path, ...], target: str | None, for_device: str | None, chart: Path | None) -> None:
    """Show what RECORDS say: of each kernel its time by default, the best one, the gain and the trials."""
    with explained():
        if chart is not None:
            check_distinct([("--chart", chart)], read_files())
        read = read_records(records)
        kept = [r for r in read.records if target in (None, r.target) and is_of(r, for_device)]
        if not kept:
            raise InputError(f"there is no record of {target or 'any target'} on {for_device or 'any device'}")
        lines = summarise(kept)
        width = None if sys.stdout.isatty() else 160
        for table, rows in _tables(lines):
            show_table(table, rows, width=width)
        if read.damaged:
            say(f"{read.damaged} lines are no records, and were passed over", err=True)
        if chart is not None:
            from .tune_chart import draw_progress

            draw_progress(kept, chart)


def _tables(lines: list[Line]) -> Iterator[tuple[Table, list[tuple[str, ...]]]]:
    """One for each target and device, and its rows."""
    for (target, device), group in itertools.groupby(lines, lambda line: (line.target, line.device)):
        rows: list[tuple[str, ...]] = []
        table = Table("kernel or layer", title=cell(f"{target} on {device}"), title_justify="left")
        for name in ("default", "best", "gain", "trials", "failed"):
            table.add_column(name, justify="right")
        table.add_column("used")
        for line in group:
            times = (_ms(line.base), _ms(line.best), f"{line.base / line.best:.2f} x") if line.best else ("", "", "")
            counts = str(line.trials), str(line.failed)
            rows.append((line.kernel, *times, *counts, "yes" if line.chosen else ""))
        yield table, rows


def _ms(milliseconds: float) -> str:
    return f"{milliseconds:.3f} ms"


if __name__ == "__main__":
    main()
