"""The command line: `python -m benchmarks run`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from webnn_compile.cli.input_options import ShapeOption
from webnn_compile.cli.terminal import cell, say
from webnn_compile.driver.targets import bundled_targets
from webnn_compile.errors import WebnnCompileError
from webnn_compile.tune.problem import TUNED

from . import bundles, peers
from .cases import DEFAULT as DEFAULT_CASES
from .cases import find_case, write_case
from .chart import draw_chart
from .cliffs import PAIRS, Limits, cliff_grid, find_cliffs, find_models
from .decoder_model import DecoderSize
from .decoders import (
    OURS,
    THEIRS,
    DecoderJob,
    decode_here,
    decoder_grid,
    measure_decoders,
    write_decoder,
    write_results,
)
from .engines import DEFAULT as DEFAULT_ENGINES
from .engines import ENGINES
from .first import first_grid
from .folders import HERE, ROOT, WORK
from .kernels import profile_here
from .measure import Job, measure_here
from .readme import update_readme
from .results import Results
from .run import Settings, run
from .spaces import TARGETS as SPACE_TARGETS
from .spaces import measure_spaces, names_by_target, space_grid
from .tables import bundle_grid, engine_grid, kernel_grid, print_grid
from .targets import DEFAULT as TARGETS_HERE
from .targets import measure_targets, target_grid
from .trees import find_tree

FIRST_ENGINES = ("ours-wasm", "onnxruntime-web", "tfjs-wasm")

FILE = click.Path(path_type=Path, dir_okay=False)


class NamesOption(click.ParamType[tuple[str, ...]]):
    """Names with commas between them, all of a list."""

    name = "names"

    def __init__(self, names: Sequence[str] | None = None) -> None:
        self._known = names

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        names = tuple(n.strip() for n in str(value).split(",") if n.strip())
        unknown = [n for n in names if self._known is not None and n not in self._known]
        if unknown or not names:
            self.fail(f"{value!r}: choose from {', '.join(self._known or ())}", param, ctx)
        return names


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def main() -> None:
    """Measures compiled models beside other engines, natively and in browsers."""


@main.command("run")
@click.argument("models", nargs=-1)
@click.option("--engines", type=NamesOption(tuple(ENGINES)), default=DEFAULT_ENGINES, help="All but GPUs by default.")
@click.option("--browsers", type=NamesOption(("chromium", "firefox")), default=("chromium", "firefox"))
@click.option("--shape", "shapes", type=ShapeOption(), multiple=True, help="As for webnn-compile, for files.")
@click.option("--rounds", default=3, show_default=True, help="Times that each engine is started anew, in turns.")
@click.option("--runs", default=20, show_default=True, help="Inferences that are timed in each round.")
@click.option("--warmup", default=3, show_default=True, help="Inferences before those, after the first.")
@click.option("--seconds", default=20.0, show_default=True, help="At most so long for the inferences of one round.")
@click.option("--kernels/--no-kernels", default=True, help="Time each kernel of ours, too.")
@click.option("--json", "out", type=FILE, default=WORK / "results.json", show_default=True, help="Every time measured.")
@click.option("--chart", type=FILE, help="SVG or PNG (extra `bench`).")
@click.option("--update-readme", is_flag=True, help="Put tables and chart into benchmarks/README.md.")
def run_command(
    models: tuple[str, ...],
    engines: tuple[str, ...],
    browsers: tuple[str, ...],
    shapes: tuple[tuple[str, tuple[int, ...]], ...],
    rounds: int,
    runs: int,
    warmup: int,
    seconds: float,
    kernels: bool,
    out: Path,
    chart: Path | None,
    update_readme: bool,
) -> None:
    """Measure MODELS, which are names of known models or ONNX files."""
    settings = Settings(
        cases=models or DEFAULT_CASES,
        engines=engines,
        browsers=browsers,
        shapes=dict(shapes),
        rounds=rounds,
        runs=runs,
        warmup=warmup,
        seconds=seconds,
        kernels=kernels,
    )
    results = run(settings, lambda line: click.echo(line, err=True))
    results.write(out)
    show(results, chart, update_readme)


@main.command("first")
@click.argument("models", nargs=-1)
@click.option("--engines", type=NamesOption(tuple(ENGINES)), default=FIRST_ENGINES, help="WebAssembly by default.")
@click.option("--browsers", type=NamesOption(("chromium", "firefox")), default=("chromium", "firefox"))
@click.option("--shape", "shapes", type=ShapeOption(), multiple=True, help="As for webnn-compile, for files.")
@click.option(
    "--line", type=click.FloatRange(0), default=0, help="Mbit/s that the server sends; by default all it can."
)
@click.option("--rounds", default=5, show_default=True, help="Times that each engine is started anew, in turns.")
@click.option("--json", "out", type=FILE, default=WORK / "first.json", show_default=True, help="Every round's figures.")
def first_command(
    models: tuple[str, ...],
    engines: tuple[str, ...],
    browsers: tuple[str, ...],
    shapes: tuple[tuple[str, tuple[int, ...]], ...],
    line: float,
    rounds: int,
    out: Path,
) -> None:
    """The first result of MODELS, names of known models or ONNX files, from an empty cache.

    In a fresh browser, from the import of the engine to an answer; and how much of that is after the last byte.
    """
    named = models or DEFAULT_CASES
    settings = Settings(named, engines, browsers, dict(shapes), rounds, runs=0, warmup=0, kernels=False, line=line)
    results = run(settings, lambda text: click.echo(text, err=True))
    results.facts["line"] = line
    results.write(out)
    print_grid(first_grid(results.measured, line), terminal())


@main.command("show")
@click.argument("file", type=FILE, default=WORK / "results.json")
@click.option("--chart", type=FILE, help="SVG or PNG (extra `bench`).")
@click.option("--update-readme", is_flag=True, help="Put tables and chart into benchmarks/README.md.")
def show_command(file: Path, chart: Path | None, update_readme: bool) -> None:
    """The tables of an earlier run."""
    show(Results.read(file), chart, update_readme)


def terminal() -> Console:
    return Console(width=None if sys.stdout.isatty() else 160)


def show(results: Results, chart: Path | None, update: bool) -> None:
    console = terminal()
    print_grid(engine_grid(results.measured), console)
    for profile in results.profiles:
        if "failed" in profile:
            where = profile["browser"] or "native"
            console.print(cell(f"kernels of {profile['case']}, {where}: failed: {profile['failed']}"))
        else:
            print_grid(kernel_grid(profile), console)
    if update and chart is None:
        chart = HERE / "chart.svg"
    if chart is not None:
        draw_chart(results.measured, chart)
    if update:
        update_readme(results, HERE / "README.md", chart)


@main.command("rpc")
@click.option("--rounds", default=5, show_default=True, help="The best of so many counts.")
def rpc_command(rounds: int) -> None:
    """Speed and memory of RPC on this machine."""
    from .rpc import measure_rpc

    print_grid(measure_rpc(rounds), terminal())


BROWSER = click.option("--browser", type=click.Choice(["chromium", "firefox"]), default="chromium", show_default=True)
SHAPE = click.option("--shape", "shapes", type=ShapeOption(), multiple=True, help="As for webnn-compile, for files.")


@main.command("search")
@click.argument("model")
@click.option("--target", type=click.Choice(TUNED), default="wasm", show_default=True)
@BROWSER
@SHAPE
@click.option("--kernels", default=5, show_default=True, help="The costliest.")
@click.option("--trials", default=200, show_default=True, help="For each kernel.")
@click.option("--exhaustive", "leaves", type=click.IntRange(1), help="Spaces of at most so many leaves, exhausted.")
def search_command(
    model: str,
    target: str,
    browser: str,
    shapes: tuple[tuple[str, tuple[int, ...]], ...],
    kernels: int,
    trials: int,
    leaves: int | None,
) -> None:
    """Searches for schedules of the kernels of MODEL from the options in their worst order; or, from the options in the
    heuristics' order, beside an exhaustive search."""
    from .search import exhaustive_grid, search_exhaustively, search_from_worst, worst_grid

    case, where = find_case(model, dict(shapes)), f"{target}, {browser}"
    if leaves is None:
        grid = worst_grid(case.name, where, search_from_worst(case, target, browser, kernels, trials))
    else:
        exhausted = search_exhaustively(case, target, browser, kernels, trials, leaves)
        grid = exhaustive_grid(case.name, where, exhausted)
    print_grid(grid, terminal())


@main.command("tuned")
@click.argument("models", nargs=-1)
@click.option("--records", type=FILE, required=True, help="Of `webnn-tune`.")
@click.option("--targets", type=NamesOption(bundled_targets()), default=bundled_targets(), help="All by default.")
@BROWSER
@SHAPE
@click.option("--rounds", type=click.IntRange(3), default=15, show_default=True)
def tuned_command(
    models: tuple[str, ...],
    records: Path,
    targets: tuple[str, ...],
    browser: str,
    shapes: tuple[tuple[str, tuple[int, ...]], ...],
    rounds: int,
) -> None:
    """Run MODELS with records and by default, in turns in one tab of the browser that they were measured in."""
    from .tuned import measure_tuned, tuned_grid

    cases = [find_case(m, dict(shapes)) for m in models or DEFAULT_CASES]
    rows = [measure_tuned(case, target, browser, records, rounds) for case in cases for target in targets]
    print_grid(tuned_grid(rows), terminal())


@main.command("bundles")
@click.argument("before")
@click.argument("models", nargs=-1)
@click.option("--after", default=str(ROOT), metavar="REVISION|FOLDER", help="The other tree; by default this one.")
@click.option(
    "--targets", metavar="LIST", default=",".join(bundled_targets()), show_default=True, help="As for webnn-compile."
)
@click.option("--shape", "shapes", type=ShapeOption(), multiple=True, help="As for webnn-compile, for files.")
@click.option("--rounds", type=click.IntRange(1), default=1, show_default=True, help="Compilations by each, in turns.")
@click.option("--cache/--no-cache", default=False, help="Each tree has a cache, which a round before the first fills.")
@click.option("--json", "out", type=FILE, help="Every file's name, every round's time and memory.")
def bundles_command(
    before: str,
    models: tuple[str, ...],
    after: str,
    targets: str,
    shapes: tuple[tuple[str, tuple[int, ...]], ...],
    rounds: int,
    cache: bool,
    out: Path | None,
) -> None:
    """Compile MODELS by the compiler of BEFORE, a git revision or a folder, and by this one, and compare the bundles.

    Exit code 1: files of code or weights differ. MODELS are names of known models or ONNX files.
    """
    named = models or bundles.default_models()
    settings = bundles.Settings(find_tree(before), find_tree(after), named, dict(shapes), targets, rounds, cache)
    compared = bundles.compare_bundles(settings, lambda line: click.echo(line, err=True))
    if out is not None:
        bundles.write_comparisons(settings, compared, out)
    print_grid(bundle_grid(compared), terminal())
    if not all(c.same for c in compared):
        sys.exit(1)


@main.command("targets")
@click.argument("models", nargs=-1)
@click.option("--targets", type=NamesOption(), default=TARGETS_HERE, help="The first is what others are compared with.")
@click.option("--threads", default=1, show_default=True, help="Of native, library and c.")
@click.option("--rounds", default=30, show_default=True, help="Runs of each target, in turns.")
def targets_command(models: tuple[str, ...], targets: tuple[str, ...], threads: int, rounds: int) -> None:
    """The targets of this machine, tinygrad where it is installed, and browsers (firefox:webgl), on MODELS."""
    for name in models or DEFAULT_CASES:
        case = find_case(name, {})
        write_case(case)
        print_grid(target_grid(name, threads, measure_targets(case, targets, threads, rounds)), terminal())


@main.command("cliffs")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path, exists=True))
@click.option("--limit", default=Limits().ratio, show_default=True, help="A cliff takes more of onnxruntime's time.")
@click.option("--least-ms", default=Limits().least_ms, show_default=True, help="And at least so long by our code.")
@click.option("--browsers", type=NamesOption(("none", "chromium", "firefox")), default=("chromium",), show_default=True)
@click.option("--size", default=64, show_default=True, help="Of open dimensions but the first, which is 1.")
@click.option("--rounds", default=2, show_default=True, help="Times that each engine is started anew, in turns.")
@click.option("--runs", default=15, show_default=True, help="Inferences that are timed in each round.")
def cliffs_command(
    paths: tuple[Path, ...],
    limit: float,
    least_ms: float,
    browsers: tuple[str, ...],
    size: int,
    rounds: int,
    runs: int,
) -> None:
    """Compare PATHS, ONNX files or folders of them, with onnxruntime natively and onnxruntime-web in browsers.

    Exit code 1: some take longer than the limit, or could not be measured. By default: all known models and the shared
    folder's.
    """
    places = tuple(b for b in browsers if b != "none")
    engines = tuple(e for pair in PAIRS.items() for e in pair if places or ENGINES[e].page is None)
    settings = Settings((), engines, places, rounds=rounds, runs=runs, seconds=10, kernels=False)
    limits, findings = Limits(limit, least_ms), []
    for each in find_cliffs(find_models(paths), settings, size, lambda line: say(line, err=True)):
        findings += each
    print_grid(cliff_grid(findings, limits), terminal())
    if any(f.failed or f.is_cliff(limits) for f in findings):
        sys.exit(1)


@main.command("spaces")
@click.argument("models", nargs=-1)
@click.option("--targets", type=NamesOption(SPACE_TARGETS), default=SPACE_TARGETS, help="wasm, webgpu, webgl.")
@click.option("--probes", default=20, show_default=True, help="Random schedules of each kernel.")
def spaces_command(models: tuple[str, ...], targets: tuple[str, ...], probes: int) -> None:
    """Estimate how many schedules the choices of MODELS make: of names of known models, or ONNX files."""
    searched = [s for m in models or DEFAULT_CASES for s in measure_spaces(find_case(m, {}), targets, probes)]
    print_grid(space_grid(searched), terminal())
    for target, names in names_by_target(searched).items():
        click.echo(f"{target}: {', '.join(names)}")


@main.command("decoders")
@click.option("--browser", type=click.Choice(("chromium", "firefox")), default="chromium", show_default=True)
@click.option("--backend", type=click.Choice(("wasm", "webgl", "webgpu")), default="wasm", show_default=True)
@click.option("--threads", default=1, show_default=True, help="Of both engines, where the backend is wasm.")
@click.option("--engines", type=NamesOption((OURS, THEIRS)), default=(OURS, THEIRS))
@click.option("--layers", default=6, show_default=True)
@click.option("--rows", type=NamesOption(), default=("10", "400", "1900"), show_default=True, help="Of the caches.")
@click.option("--steps", default=30, show_default=True, help="Tokens that are timed at each number of rows.")
@click.option("--prompt", default=256, show_default=True, help="Tokens of a prompt.")
@click.option("--rounds", default=3, show_default=True, help="Times that each engine is started anew, in turns.")
@click.option("--build/--no-build", default=True, help="Compile the bundle anew.")
@click.option(
    "--json", "out", type=FILE, default=WORK / "decoders.json", show_default=True, help="Every time measured."
)
def decoders_command(
    browser: str,
    backend: str,
    threads: int,
    engines: tuple[str, ...],
    layers: int,
    rows: tuple[str, ...],
    steps: int,
    prompt: int,
    rounds: int,
    build: bool,
    out: Path,
) -> None:
    """Milliseconds of a token by a decoder of 6 layers of 384 channels, by the rows of its caches, and of a prompt.

    Caches of ours stay where they are; those of onnxruntime-web pass through its `run`.
    """
    size = DecoderSize(layers=layers)
    if THEIRS in engines:
        peers.install()
    if build:
        write_decoder(size, (backend,))
    jobs = [
        DecoderJob(engine, backend, threads, browser, tuple(map(int, rows)), steps, prompt, 3, size)
        for engine in engines
    ]
    measured = measure_decoders(jobs, rounds, lambda text: click.echo(text, err=True))
    write_results(out, jobs, measured)
    print_grid(decoder_grid(jobs, measured), Console())


@main.command("decode", hidden=True)
@click.argument("job")
def decode_command(job: str) -> None:
    """One decoder in one engine, in this process."""
    click.echo(json.dumps(decode_here(json.loads(job))))


@main.command("measure", hidden=True)
@click.argument("job")
def measure_command(job: str) -> None:
    """One measurement, in this process."""
    click.echo(json.dumps(measure_here(Job(**json.loads(job)))))


@main.command("profile", hidden=True)
@click.argument("job")
def profile_command(job: str) -> None:
    """The kernels of one case, in this process."""
    fields = json.loads(job)
    click.echo(json.dumps(profile_here(fields["case"], fields["shapes"], fields["browser"])))


if __name__ == "__main__":
    try:
        main()
    except WebnnCompileError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(error.exit_code)
