"""The Python interface: a model in, something that runs, or the bundle for a device, out."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

from .answers.answering import Answering
from .answers.formats import AnswerLike
from .bundle import BUNDLE, ESM, Packaging, write_folder
from .custom.load_operators import OperatorsLike, operators_of
from .driver.build import build_files, build_manifest
from .driver.check_paths import check_paths
from .driver.given_options import BundleOptions, ModelOptions, model_options, options_of, paths_of
from .driver.model_files import Models, TorchModel, exported, model_file, model_files
from .driver.optimise_model import import_graph, optimise_model
from .driver.options import ACTIVATIONS, Options
from .driver.report_data import Report, with_files
from .driver.run_remote import PREFIX, compile_remote, parse_remote
from .driver.targets import TARGETS as TABLE
from .driver.targets import bundled_targets
from .driver.work import Phase, Work
from .errors import InputError
from .frontends.model_inputs import DimLike, model_inputs
from .generation.generating import Generating
from .ir.memo import forgetting
from .pictures.formats import FORMATS, FormatLike
from .pictures.taking_pictures import TakingPictures
from .sounds.formats import SOUNDS, SoundLike
from .system.cache import open_cache
from .system.put_files import OutputFile
from .system.watch_limits import within
from .tokenizers.encode import TakingText

if TYPE_CHECKING:
    import numpy as np
    import onnx

    from .bundle import Manifest
    from .driver.build_functions import Function
    from .driver.compile_target import CompiledModel
    from .driver.run_remote import RemoteModel
    from .quantization.result import Quantization

TARGETS = tuple(TABLE)


@forgetting()
def compile(
    model: str | Path | bytes | onnx.ModelProto | TorchModel,
    target: str = "native",
    shapes: Mapping[str, tuple[int | str, ...]] | None = None,
    *,
    example_inputs: Sequence[Any] | Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    dims: Mapping[str, DimLike] | None = None,
    constants: Mapping[str, object] | None = None,
    signature: str = "",
    operators: OperatorsLike = (),
    pictures: Mapping[str, FormatLike] | None = None,
    sounds: Mapping[str, SoundLike] | None = None,
    answers: Sequence[AnswerLike] = (),
    labels: str | Path | Sequence[str] | None = None,
    text: str | Path | None = None,
    chat_template: str | Path | None = None,
    states: Sequence[str] | None = None,
    given: Sequence[str] = (),
    state_window: int | None = None,
    generate: bool | str = False,
    threads: int = 1,
    fast_math: bool = True,
    precision: str = "f32",
    activations: str = "model",
    cache: bool = True,
    compile_memory: int | None = None,
    max_seconds: float | None = None,
    records: str | Path | Sequence[str | Path] = (),
    for_device: str | None = None,
) -> CompiledModel | RemoteModel | Answering | TakingPictures | TakingText | Generating:
    """A model that runs in this process, or in a tab: `compile(...).run({name: array}) -> {name: array}`.

    `target`: "native" (this CPU), "c" (the same through a C compiler), "wasm", "wasm-relaxed" and "wasm-signed"
    (through wasmtime, extra `[verify]`), "webgpu" (through wgpu, extra `[webgpu]`), "webgl" (through the system's
    OpenGL ES), "opencl" (through pyopencl, extra `[opencl]`) and "cuda" (through NVIDIA's driver, extra `[cuda]`).
    "remote:NAME/webgpu" (or webgl, or wasm) runs in a tab that has joined the broker at WEBNN_RPC_BROKER; `close()`
    frees it for others. A module of PyTorch (extra `[torch]`) is exported by `example_inputs`, arguments of its
    `forward` in order or by name; `dynamic_shapes` says which of their sizes vary, as of torch.export.export. `shapes`
    fixes free dimensions by input, or names them; `dims` says by name how long they are: a number, or (least, most) for
    sizes that each run decides, or (least, most, multiple). `constants` are values of inputs that never change.
    `signature` is the one to take of a TFLite model or a SavedModel that has several. `operators` are those that you
    define, as --ops reads them: files of Python, which are executed, and functions that `webnn_compile.custom.operator`
    decorates. `pictures` are formats of inputs that pictures fill: names of FORMATS, or objects of JSON as --picture
    reads them; such an input is uint8 [height, width, 4] then, of red, green, blue and alpha, which is not read, uint8
    [height, width, 3] without it, or int32 [height, width], words of these four bytes, red lowest. `sounds`
    are those of inputs that sounds fill, as --sound reads them: float32 [samples] then, of one channel at the format's
    rate (`webnn_compile.sounds.prepare.samples_of` makes such). `answers`, as --answer has them, are what runs return
    in place of outputs, with `labels`: a file, or a list. `text` is a tokenizer.json, as --text has it (extra
    `[text]`): runs take `text`, a string or a list of strings and pairs of them, in place of the inputs of tokens,
    int64 or int32 [batch, length]. `chat_template` is the file of the template by which `generate` takes messages,
    where it is not beside the tokenizer. `states` are pairs INPUT=OUTPUT, perhaps with wildcards, of what outlives
    a run: the output of one run is the input of the next, and no input or output any more (`reset`, `position`,
    `save_state`, `load_state`, `rewind`, `session` of the result); by default the caches of decoders, by their
    usual names; () for none. Masks and positions that follow from them are no inputs either, but for those in
    `given`. Of states that grow the newest `state_window` rows stay. "native" and "c" run on so many `threads`,
    with the same results. `fast_math` allows algorithms that round otherwise than the model's own operators, for
    convolutions up to 1e-3 of the largest result. `precision` "f16" rounds large constants to float16, and on
    "webgpu", "opencl" and "cuda" tensors between kernels; sums are float32 everywhere. "tf32", on "cuda", rounds
    operands of large products to ten bits of fraction. "f16-fast": as `--precision` of the command line.
    `activations`, "model", "f32" or "int8": as `--activations` of the command line. With `cache`, kernels of
    earlier calls come from the user's cache folder. `compile_memory`, in bytes, is what compiling may take, by
    estimate; by default three quarters of the machine's memory. A limit that is given, and `max_seconds`, hold for
    the call as a whole, whatever it does; code that is not Python's is not interrupted. `records` are files of
    webnn-tune, whose schedules are used where they fit; `for_device` is the device that counts among theirs, by its
    name or part of it. Raises InputError and UnsupportedError.
    """
    own = model_options(locals())
    remote = target.startswith(PREFIX)
    name = parse_remote(target)[1] if remote else target
    if name not in TABLE:
        raise InputError(f"target {target!r} is not known; choose one of {', '.join(TABLE)}")
    row = TABLE[name]
    if threads < 1 or (threads > 1 and not row.threads and not (remote and row.webassembly)):
        several = [t.name for t in TABLE.values() if t.threads]
        raise InputError(f"threads={threads}: give 1 or more for the target {', '.join(several)}, 1 for the others")
    row.check_precision(precision)
    shared = Options(
        fast_math=fast_math,
        precision=precision,
        activations=activations,
        threads=threads,
        cache=cache,
        compile_memory=compile_memory,
        records=paths_of(records),
        for_device=for_device,
    )
    options = options_of(own, shared)
    if activations not in ACTIVATIONS:
        raise InputError(f"activations={activations!r}: choose one of {', '.join(ACTIVATIONS)}")
    source = exported(model, example_inputs, dynamic_shapes)
    folder = Path(source).parent if isinstance(source, str | Path) else None
    phases = ["start"]
    work = Work("the model", options, open_cache(enabled=cache), phases.append, folder=folder)
    with within(max_seconds, compile_memory, lambda: phases[-1]):
        optimised = optimise_model(import_graph(source, work), work)
        compiled = compile_remote(target, optimised, work) if remote else row.compile(row.lower(optimised, work), work)
    work.cache.trim()
    taken = {p.value.name for p in work.pictures}
    if work.generation:
        decoder = TakingPictures(compiled, taken) if taken else compiled
        return Generating(decoder, work.generation[0], options.text)
    answering = Answering(compiled, work.answers) if work.answers else compiled
    # Outside of answers, which read the sizes of pictures from the words.
    taking = TakingPictures(answering, taken) if taken else answering
    return TakingText(taking, work.text[0]) if work.text else taking


@overload
def build_bundle(
    model: str | Path | TorchModel,
    targets: str | Sequence[str] | None = None,
    shapes: Mapping[str, tuple[int | str, ...]] | None = None,
    *,
    out: str | Path | None = None,
    **options: Unpack[BundleOptions],
) -> Manifest: ...


@overload
def build_bundle(
    model: Models,
    targets: str | Sequence[str] | None = None,
    shapes: Mapping[str, tuple[int | str, ...]] | None = None,
    *,
    out: str | Path,
    own: Mapping[str, ModelOptions] | None = None,
    **options: Unpack[BundleOptions],
) -> dict[str, Manifest]: ...


def build_bundle(
    model: str | Path | TorchModel | Models,
    targets: str | Sequence[str] | None = None,
    shapes: Mapping[str, tuple[int | str, ...]] | None = None,
    *,
    example_inputs: Sequence[Any] | Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    out: str | Path | None = None,
    own: Mapping[str, ModelOptions] | None = None,
    packaging: Packaging = ESM,
    coop_coep: bool = False,
    golden: bool = True,
    canaries: bool = True,
    check_kernels: bool = False,
    report: str | Path | None = None,
    force: bool = False,
    dims: Mapping[str, DimLike] | None = None,
    constants: Mapping[str, object] | None = None,
    signature: str = "",
    operators: OperatorsLike = (),
    pictures: Mapping[str, FormatLike] | None = None,
    sounds: Mapping[str, SoundLike] | None = None,
    answers: Sequence[AnswerLike] = (),
    labels: str | Path | Sequence[str] | None = None,
    text: str | Path | None = None,
    chat_template: str | Path | None = None,
    states: Sequence[str] | None = None,
    given: Sequence[str] = (),
    state_window: int | None = None,
    generate: bool | str = False,
    fast_math: bool = True,
    precision: str = "f32",
    activations: str = "model",
    gpu_tiles: str = "registers",
    cache: bool = True,
    compile_memory: int | None = None,
    max_seconds: float | None = None,
    page_memory: int | None = None,
    records: str | Path | Sequence[str | Path] = (),
    for_device: str | None = None,
) -> Manifest | dict[str, Manifest]:
    """Builds the bundle of `webnn-compile`, in memory: a device of `webnn_compile.rpc.client` loads it. With `out` it
    is written there, too, all or nothing.

    Several models, as a list or by name, come into one bundle, `out`, with one runtime; what returns are their
    manifests by name. In a list each has the name of its file, made one for scripts. Options about a model's inputs,
    outputs or computation are for all of them, and those that name an input or a size for the models that have it;
    `own` has by name those that are for one model alone. The report of each has its name.

    `targets` are of "webgpu", "webgl" and "wasm", by default all. `packaging` is the form of the folder, as of
    --format, --single-file, --base-url and --compress; `coop_coep` adds what makes a page cross-origin isolated, and
    `golden` results by which the bundle's page tests each backend, `canaries` launches by which GPUs, and on wasm
    relaxed instructions and threads, show at load that they compute rightly, `check_kernels` what `model.check`
    compares a GPU's launches with. `report` is the file of the report's page, .html; `force` replaces a bundle that is
    there. `page_memory`, in bytes, is what the model may take in a page. The other options are those of `compile`, and
    `gpu_tiles` that of the command line. Raises InputError and UnsupportedError.
    """
    general = model_options(locals())
    shared = Options(
        targets=bundled_targets() if targets is None else (targets,) if isinstance(targets, str) else tuple(targets),
        fast_math=fast_math,
        precision=precision,
        activations=activations,
        gpu_tiles=gpu_tiles,
        coop_coep=coop_coep,
        golden=golden and out is not None,
        canaries=canaries,
        check_kernels=check_kernels,
        packaging=packaging,
        force=force,
        cache=cache,
        compile_memory=compile_memory,
        page_memory=page_memory,
        report=None if report is None else Path(report),
        records=paths_of(records),
        for_device=for_device,
    )
    several = isinstance(model, Mapping | list | tuple)
    if out is None and (packaging != ESM or coop_coep or report is not None or several):
        raise InputError("packaging=, coop_coep=, report= and several models are for a folder: give out=, too")
    if own and not several:
        raise InputError("own= is for several models: give the options of one as those of build_bundle")
    if shared.report is not None and not shared.page:
        raise InputError(f"report={str(report)!r}: give the file of a page, such as 'report.html'")
    phases = ["start"]
    limits = within(max_seconds, compile_memory, lambda: phases[-1])
    with tempfile.TemporaryDirectory() as folder, limits:
        if isinstance(model, Mapping | list | tuple):
            from .driver.divide_options import functions_of

            files = model_files(model, general, own or {}, Path(folder))
            functions = functions_of(files, general, own or {}, shared)
            return _write_functions(functions, Path(out or ""), phases.append)
        path = model_file(model, general, Path(folder))
        options = options_of(general, shared)
        if out is None:
            return build_manifest(path, options, phases.append)
        return _write_bundle(path, Path(out), options, phases.append)


def _write_bundle(model: Path, out: Path, options: Options, phase: Phase) -> Manifest:
    check_paths([(model, options)], out)
    built = build_files(model, options, phase)
    others = with_files(built.report, partial(_page, options))
    write_folder(built.files, out, BUNDLE, force=options.force, others=others)
    return built.manifest


def _write_functions(functions: Sequence[Function], out: Path, phase: Phase) -> dict[str, Manifest]:
    from .driver.build_functions import build_functions

    def page(function: Function, report: Report) -> list[OutputFile]:
        return _page(function.options, report)

    return build_functions(functions, out, phase, lambda _: None, page).manifests


def _page(options: Options, report: Report) -> list[OutputFile]:
    """The page that the options want of a report."""
    if options.report is None:
        return []
    from .report.make_page import make_page

    return [OutputFile("--report", options.report, make_page(report, options).encode())]


@forgetting()
def quantize(
    model: str | Path | bytes | onnx.ModelProto,
    calibration: str | Path | Sequence[Mapping[str, np.ndarray]] | None = None,
    shapes: Mapping[str, tuple[int | str, ...]] | None = None,
    *,
    weights: str | None = None,
    dims: Mapping[str, DimLike] | None = None,
    constants: Mapping[str, object] | None = None,
    signature: str = "",
    operators: OperatorsLike = (),
    method: str = "minmax",
    activations: str = "uint8",
    per_channel: bool = True,
    weight_bits: int = 8,
    keep: Sequence[str] = (),
    equalize: bool = False,
    correct_bias: bool = False,
    accuracy_drop: float | None = None,
    expected: str | Path | None = None,
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
    sound: SoundLike | None = None,
    cache: bool = True,
    compile_memory: int | None = None,
    report: Callable[[Quantization], None] | None = None,
) -> onnx.ModelProto:
    """The model in fewer bits, which `compile` takes. `report` receives the errors of its layers.

    Layers compute in eight bits, by ranges measured on `calibration`: a folder, as of the command line's --calibrate,
    or arrays by input for each run. With `weights` ("f16", "int8", "int4", "nf4", with a length of blocks as in
    "int4:block=32") weights alone are in fewer bits; errors are then measured on random inputs where there is no
    calibration. `sound` is the format of .wav files. The other options are those of the command line. Raises InputError
    and UnsupportedError.
    """
    from .quantization.quantize_model import quantize_model
    from .quantization.settings import QuantizeOptions, Static, parse_weights

    imagenet = FORMATS["imagenet"]
    static = Static(
        method,
        activations,
        per_channel=per_channel,
        weight_bits=weight_bits,
        equalize=equalize,
        correct_bias=correct_bias,
        accuracy_drop=accuracy_drop,
    )
    if weights is not None and (static != Static() or expected is not None):
        raise InputError("weights= quantises weights alone: leave out expected= and options of values between layers")
    options = QuantizeOptions(
        static if weights is None else parse_weights(weights),
        Path(calibration) if isinstance(calibration, str) else calibration,
        tuple(keep),
        None if expected is None else Path(expected),
        replace(imagenet, mean=tuple(mean or imagenet.mean), std=tuple(std or imagenet.std)),
        None if sound is None else SOUNDS.by_input({"sound": sound})["sound"],
    )
    chosen = model_inputs(shapes, dims, constants, operators_of(operators), signature)
    quantized, measured = quantize_model(model, chosen, options, open_cache(enabled=cache), compile_memory)
    if report is not None:
        report(measured)
    return quantized
