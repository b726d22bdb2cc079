"""The command line: `webnn-compile model.onnx --out bundle/`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..bundle.packaging import Packaging
from ..driver.compile_target import PRECISIONS
from ..driver.options import CPUS, HOSTS, Options
from ..driver.profiles import Profile
from ..driver.targets import bundled_targets
from ..errors import InputError
from ..system.put_files import OutputFile
from ..text.printable import printable
from .bundle_options import bundle_options
from .explained import DEBUG, FILE, MODEL, TEXT, explained
from .limit_options import Limits, limit_options
from .model_options import model_options
from .progress import Progress
from .report_options import PeakOption, ProfileOption
from .several_models import GivenModels, ModelsCommand, given_models, options_of_models
from .terminal import error_console, say
from .watch import FLAG, read_files, repeat

if TYPE_CHECKING:
    from ..driver.report_data import Report
    from ..driver.work import Phase

T = TypeVar("T")

MISSING = {
    "models": "Give the file of a model, as in webnn-compile model.onnx --out bundle/",
    "out": "Give the folder to write, as in --out bundle/",
}
"""By parameter what to do where it is missing."""
LIST = "list"
"""Value of `--dump` that lists the names of the stages."""


def _needed(ctx: click.Context, param: click.Parameter, value: T) -> T:
    """The value of an option that a build requires; the list of the stages needs none, what only reads no folder."""
    reads = ctx.params.get("inspect") or ctx.params.get("check_signature")
    listed = ctx.params.get("dump") == LIST or (reads and param.name == "out")
    if not value and not listed:
        raise click.MissingParameter(MISSING[param.name or ""], ctx=ctx, param=param)
    return value


@click.command(cls=ModelsCommand, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.argument("models", nargs=-1, metavar="MODEL...", required=False, callback=_needed)
@click.option(
    "--out",
    type=FILE,
    metavar="FOLDER",
    callback=_needed,
    help="Folder to write the bundle to, new or empty.",
)
@model_options
@click.option(
    "--targets",
    type=TEXT,
    metavar="LIST",
    default=",".join(bundled_targets()),
    show_default=True,
    help="What the bundle can run on, comma-separated; a page takes the first that its device can run. In "
    "place of a bundle, alone: native, a shared library with an API in C and C++; c, the source of one.",
)
@click.option(
    "--opt-level",
    type=click.IntRange(0, 2),
    metavar="0|1|2",
    default=2,
    show_default=True,
    help="0: naive loops. 1: graph passes and schedules, all tensors row-major. 2: channels-last layouts too.",
)
@click.option(
    "--precision",
    type=click.Choice(PRECISIONS),
    default="f32",
    show_default=True,
    help="f16: the bundle has weights as float16, half as large, and webgpu stores results between kernels so, too. "
    "Every target computes in float32. f16-fast: webgpu computes in float16 between sums, too, where errors that are "
    "measured while compiling allow it.",
)
@click.option(
    "--cpu",
    type=TEXT,
    metavar="|".join(CPUS),
    help="With --targets native (host by default) or c (generic): the processor that it is for. C source runs on all.",
)
@click.option(
    "--embed-weights",
    is_flag=True,
    help="With --targets c: the weights as constants of a source file, too, for programs without files.",
)
@click.option(
    "--verify", is_flag=True, help="Compare with onnxruntime on random inputs before writing (extra [verify])."
)
@click.option(
    "--dump",
    type=TEXT,
    is_eager=True,
    metavar="after:[TARGET:]STAGE",
    help="Print the model as it is after a stage, such as after:schedule_cpu or after:webgpu:wgsl, with a line where "
    "the stage changed nothing. list: print the stages, and compile nothing; that needs no MODEL and no --out.",
)
@click.option(
    "--inspect",
    is_flag=True,
    is_eager=True,
    help="Say what is in the file of MODEL: inputs, free sizes, weights, quantisation, operators, and where all sizes "
    "are known what GPUs leave to WebAssembly. Nothing is compiled; that needs no --out.",
)
@click.option(
    "--check-signature",
    type=TEXT,
    is_eager=True,
    metavar="PUBLIC_KEY|FILE.pem",
    help="Check that the files of a bundle, whose folder MODEL is, are those that were signed by --sign with this key, "
    "in base64 or a file. Nothing is compiled; that needs no --out.",
)
@click.option(
    "--report",
    type=FILE,
    metavar="FILE",
    help="Write what was compiled: a page of kernels, graphs and memory to a FILE.html, figures as JSON to others.",
)
@click.option(
    "--profile",
    "profiles",
    type=ProfileOption(),
    metavar="TARGET=FILE.json",
    multiple=True,
    help="Times for that page: what model.profile() gave for a bundle of the same model and options, as JSON.",
)
@click.option(
    "--peak",
    "peaks",
    type=PeakOption(),
    metavar="TARGET=GFLOPS,GBYTES",
    multiple=True,
    help="What a target's device does in a second, for the page's roofline: billions of operations, and of bytes from "
    "memory. Of a processor it is measured here by default.",
)
@click.option(
    "--host",
    type=TEXT,
    metavar="|".join(HOSTS),
    default="wasm",
    show_default=True,
    help="js: refuse models that need WebAssembly, for pages whose policy forbids it; targets webgpu and webgl alone.",
)
@click.option(
    "--records",
    type=FILE,
    metavar="FILE",
    multiple=True,
    help="Schedules that webnn-tune measured, for the kernels that these are of. Repeat for several files.",
)
@click.option(
    "--for-device",
    type=TEXT,
    metavar="NAME",
    help="Of the records take those of this device, by its name or part of it, not the best for all.",
)
@click.option(
    "--wasm-linker", type=TEXT, metavar="LINKER", default="builtin", show_default=True, help="builtin, wasm-ld or emcc."
)
@click.option("--coop-coep", is_flag=True, help="Add what makes a page cross-origin isolated, which threads need.")
@click.option(
    "--golden",
    type=click.Choice(["on", "off"]),
    default="on",
    envvar="WEBNN_COMPILE_GOLDEN",
    show_default=True,
    help="off: no results that are computed on this machine's processor, by which the bundle's page tests each "
    "backend. Bundles by --host js have none.",
)
@click.option(
    "--canaries",
    type=click.Choice(["on", "off"]),
    default="on",
    envvar="WEBNN_COMPILE_CANARIES",
    show_default=True,
    help="off: GPUs do not show at load that they compute each kernel rightly, nor wasm its relaxed instructions and "
    "threads, and wrong results go unnoticed.",
)
@click.option(
    "--check-kernels",
    type=click.Choice(["on", "off"]),
    default="off",
    show_default=True,
    help="on: model.check finds the kernels that a GPU computes wrongly on the page's own inputs, by a module of "
    "WebAssembly that is fetched only then.",
)
@bundle_options
@click.option(
    FLAG,
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=repeat,
    help="Compile again whenever the model or another file of this command changes, until Ctrl-C.",
)
@click.option("--force", is_flag=True, help="Replace a bundle that is already there.")
@click.option("--no-cache", is_flag=True, help="Compile every kernel anew, and keep none for the next time.")
@limit_options
@click.option(
    "--list-targets",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda ctx, _, wanted: _list_targets(ctx) if wanted else None,
    help="Say what models can be compiled for, and which targets run from Python here, and exit.",
)
@DEBUG
@click.version_option(package_name="webnn-compile")
def main(
    models: tuple[str, ...],
    out: Path | None,
    computed: Options,
    targets: str,
    opt_level: int,
    precision: str,
    cpu: str | None,
    embed_weights: bool,
    verify: bool,
    dump: str | None,
    inspect: bool,
    check_signature: str | None,
    report: Path | None,
    profiles: tuple[tuple[str, Profile], ...],
    peaks: tuple[tuple[str, tuple[float, float]], ...],
    host: str,
    records: tuple[Path, ...],
    for_device: str | None,
    wasm_linker: str,
    coop_coep: bool,
    golden: str,
    canaries: str,
    check_kernels: str,
    packaging: Packaging,
    force: bool,
    no_cache: bool,
    limits: Limits,
    debug: bool,
) -> None:
    """Compile MODEL into a folder that any web server can host. MODEL is a file of ONNX, TFLite, Keras, TensorFlow,
    TensorFlow.js, Caffe, MXNet, Core ML or PyTorch (.pt2), the folder of a SavedModel or of an .mlpackage, or an
    https:// or hf:// address.

    Several models come into one bundle, with one runtime; each has the name of its file, or NAME. Options about a
    model are for all that have such an input or size; with NAME: before the value, for that model alone.

    \b
    Examples: webnn-compile resnet18.onnx --out bundle/ --shape input=1x3x224x224
              webnn-compile encoder.onnx decoder.onnx --out bundle/ --dim decoder:past=0..447

    The figures go to standard output, progress and errors to standard error. Exit code 2: a mistake in the model or
    the options; 70: a fault of webnn-compile.
    """
    from ..system.collector import collect_less_often

    given = given_models(click.get_current_context())
    if inspect:
        from .inspect_model import inspect_models

        with explained(debug=debug):
            files = given.models.values() if given is not None else [MODEL.convert(models[0], None, None)]
            inspect_models(files, computed.inputs, limits)
        return
    if check_signature is not None:
        with explained(debug=debug):
            _check_signature(models, check_signature)
        return
    collect_less_often()
    progress = Progress(error_console(), plain=dump is not None)
    interrupted = "interrupted; no bundle was written"
    with explained(debug=debug, phase=lambda: progress.current, interrupted=interrupted):
        shared: dict[str, Any] = {
            "targets": tuple(t.strip() for t in targets.split(",") if t.strip()),
            "opt_level": opt_level,
            "precision": precision,
            "cpu": cpu,
            "embed_weights": embed_weights,
            "verify": verify,
            "dump": _stage(dump) if dump != LIST else None,
            "linker": wasm_linker,
            "host": host,
            "coop_coep": coop_coep,
            "golden": golden == "on",
            "canaries": canaries == "on",
            "check_kernels": check_kernels == "on",
            "packaging": packaging,
            "force": force,
            "cache": not no_cache,
            "compile_memory": limits.compile_memory,
            "page_memory": limits.page_memory,
            "processes": None,
            "report": report,
            "profiles": dict(profiles),
            "peaks": dict(peaks),
            "records": records,
            "for_device": for_device,
            "read": read_files(),
        }
        options = replace(computed, **shared)
        if dump == LIST:
            options.check()
            say("\n".join(f"{t}: {', '.join(options.stages(t))}" for t in options.targets))
            return
        with warnings.catch_warnings(), progress, limits.watched(lambda: progress.current, out):
            warnings.showwarning = _show_warning
            if given is None:
                _build_one(MODEL.convert(models[0], None, None), out or Path(), options, progress.phase)
            else:
                _build_several(given, out or Path(), options, shared, progress.phase)


def _build_one(model: str | Path, out: Path, options: Options, phase: Phase) -> None:
    from ..driver.build import build
    from ..frontends.fetch_model import located
    from .report import print_report

    result = build(located(model, phase), out, options, phase, say, lambda report: _reported(report, options))
    print_report(result, out, stderr=options.dump is not None)


def _build_several(given: GivenModels, out: Path, options: Options, shared: Mapping[str, Any], phase: Phase) -> None:
    from ..driver.build_functions import Function, build_functions
    from ..frontends.fetch_model import located
    from .report import print_reports

    for option, is_set in (("--dump", options.dump is not None), ("--profile", bool(options.profiles))):
        if is_set:
            raise InputError(f"{option} is for one model: leave it out, or compile one of them alone")
    files = {name: located(file, phase) for name, file in given.models.items()}
    functions = []
    for name, own in options_of_models(given, files).items():
        report = None if options.report is None else options.report.with_stem(f"{options.report.stem}-{name}")
        functions.append(Function(name, files[name], replace(own, **{**shared, "report": report})))
    built = build_functions(functions, out, phase, say, lambda function, report: _reported(report, function.options))
    print_reports(built.reports, out)


def _reported(result: Report, options: Options) -> list[OutputFile]:
    if options.report is None:
        return []
    if options.page:
        from ..report.make_page import make_page

        text = make_page(result, options)
    else:
        from .render_report import render_report

        text = render_report(result)
    return [OutputFile("--report", options.report, text.encode())]


def _check_signature(folders: tuple[str, ...], key: str) -> None:
    from ..bundle.sign_files import check_signature

    for folder in folders:
        count = check_signature(Path(folder), key)
        say(f"{printable(folder)}: {count} files, all as they were signed")


def _list_targets(ctx: click.Context) -> None:
    from .target_table import print_targets

    print_targets()
    ctx.exit()


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    say(f"warning: {message}", err=True)


def _stage(dump: str | None) -> str | None:
    if dump is None:
        return None
    prefix, _, stage = dump.partition(":")
    if prefix != "after" or not stage:
        raise InputError(
            f"--dump {dump}: write --dump after:STAGE or after:TARGET:STAGE, such as after:schedule_cpu; --dump list "
            "prints the stages"
        )
    return stage
