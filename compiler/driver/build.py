"""A model file in, a bundle out: the command line without the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..bundle import (
    BUNDLE,
    Artifact,
    BundleFile,
    DeviceArtifact,
    Manifest,
    Packaging,
    WasmArtifact,
    make_manifest,
    public_key,
    render_files,
    write_folder,
)
from ..errors import InputError, InternalError
from ..frontends.importers import as_onnx, describe_model
from ..graph.ir import Graph
from ..graph.keep_states import made_inputs
from ..ir.memo import forgetting
from ..pipeline.dump import Dump
from ..pipeline.lowered import Lowered
from ..pipeline.plan_kernels import KernelPlan
from ..pipeline.weights import Weights
from ..records.record_use import use_of_records
from ..system.cache import Cache, open_cache
from ..system.run_passes import ignore
from ..tensor.program import Rewritten
from ..text.printable import printable
from .build_wasm import memory_bytes
from .bundle_answers import bundled_answers, bundled_pictures, bundled_sounds
from .bundle_generation import bundled_generation, compared_by_logits, of_devices, without_logits
from .bundle_text import bundled_text, text_packages
from .check_paths import check_paths
from .cpu_target import CpuTarget, run_native
from .draw_runs import kept_of
from .limit_memory import lower_limit_early, lower_limits, page_memory
from .make_golden import base_tolerance, make_golden
from .optimise_model import Optimised, import_graph, optimise_model
from .options import Options
from .ports_of import ports_of
from .profiles import check_profiles
from .quantize_first import Source, quantize_first
from .report_data import Report, Reported, with_files
from .targets import TARGETS, bundled_targets
from .verify import Comparison, Reference, Runnable, tolerance_of
from .work import Phase, Work
from .write_alone import write_alone

if TYPE_CHECKING:
    from .bundle_part import BundlePart
    from .compile_target import CompileTarget
    from .measure_layer import LayerError


@forgetting()
def build(
    model: Path,
    out: Path,
    options: Options,
    phase: Phase,
    emit: Callable[[str], None],
    reported: Reported = lambda _: (),
) -> Report:
    """Compiles `model` and writes the bundle to `out`, or what its target has in place of one, with what is `reported`
    of it. `emit` receives dumps.

    Raises InputError and UnsupportedError for the user's mistakes; nothing is then written.
    """
    options.check()
    alone = options.alone
    writer = alone.writer() if alone is not None and alone.writer is not None else None
    check_paths([(model, options)], out, BUNDLE if writer is None else writer.kind)
    source, work, report = begin(model, options, phase, emit)
    others = with_files(report, reported)
    if alone is not None and writer is not None:
        write_alone(alone, writer, source, out, work, report, others)
        work.cache.trim()
        return report
    built = _built(source, work, report)
    with work.timed("write"):
        write_folder(built.files, out, BUNDLE, force=options.force, others=others)
    return report


@dataclass(frozen=True, slots=True)
class Built:
    """A bundle in memory: its files, what they are made of, the manifest as data, and the report."""

    report: Report
    artifact: Artifact
    manifest: Manifest
    files: tuple[BundleFile, ...]


@forgetting()
def build_files(model: Path, options: Options, phase: Phase) -> Built:
    """Builds in memory the files that `write_bundle` writes. Raises InputError for a target that has no part in a
    bundle."""
    return _built(*_begin_bundle(model, options, phase))


def _built(source: Source, work: Work, report: Report) -> Built:
    packaging, options = packaging_of(source, work), work.options
    artifact = make_artifact(source, work, report)
    with work.timed("write"):
        manifest = make_manifest(artifact)
        files = render_files(artifact, manifest, isolation=options.coop_coep, packaging=packaging)
        work.cache.trim()
    return Built(report, artifact, manifest, tuple(files))


@forgetting()
def build_manifest(model: Path, options: Options, phase: Phase) -> Manifest:
    """The manifest for a device that loads the model over RPC."""
    source, work, report = _begin_bundle(model, options, phase)
    manifest = make_manifest(make_artifact(source, work, report))
    work.cache.trim()
    return manifest


def _begin_bundle(model: Path, options: Options, phase: Phase) -> tuple[Source, Work, Report]:
    options.check()
    if options.alone is not None:
        raise InputError(
            f"target {options.alone.name} has no part in a bundle; choose from {', '.join(bundled_targets())}"
        )
    return begin(model, options, phase, lambda _: None)


def make_artifact_of(target: CompileTarget, lowered: Lowered, work: Work) -> tuple[Artifact, KernelPlan]:
    """The artifact of `lowered`, by the policy of a target that bundles can have, for that target alone; and the plan
    of its kernels."""
    weights = Weights()
    part = target.bundle(lowered, weights, work)
    ports = ports_of(lowered)
    blob, tensors = weights.blob(), lowered.tensors
    artifact = Artifact(
        work.name,
        ports.inputs,
        ports.outputs,
        blob,
        (part.artifact,),
        weights.halves,
        tensors.dimensions,
        tensors.refusals,
        weights.types,
        bundled_pictures(work),
        bundled_sounds(work),
        states=ports.states,
    )
    return artifact, part.plan


def begin(
    model: Path, options: Options, phase: Phase, emit: Callable[[str], None], name: str | None = None
) -> tuple[Source, Work, Report]:
    """The source, which is `model` unless it is quantised first, and the context of the build; `name` is the model's,
    by default that of the file."""
    # Cached kernels are not made, so could not be dumped.
    cache = open_cache(enabled=options.cache and options.dump is None)
    dump = ignore if options.dumped is None else Dump(options.dumped[1], emit)
    work = Work(name or printable(model.stem), options, cache, phase, dump, folder=model.parent)
    report = Report(printable(model.name), options.precision, cache, work.seconds)
    report.single_file = options.packaging.single_file
    if options.packaging.sign is not None:
        report.public_key = public_key(options.packaging.sign)
    return *quantize_first(model, work, report), report


def make_artifact(model: Source, work: Work, report: Report) -> Artifact:
    """Compiles for each target of the options, and fills `report`."""
    options = work.options
    if options.verify and (options.answers or options.generate is not None):
        return _verified_before(model, work, report)
    with work.timed("import"):
        graph = import_graph(model, work)
    report.operators = Counter(n.op for n in graph.nodes)
    with work.timed("optimise"):
        optimised = optimise_model(compared_by_logits(graph, work), work)
        report.graph_nodes = len(optimised.graph.nodes)
    if options.page:
        report.graphs = graph, optimised.graph
    made = _make_parts(optimised, work)
    while lower_limits(made.parts, made.lowered, made.weights, work):
        made = _make_parts(optimised, work)
    lowered, weights = made.on_processor, made.weights
    report.parts = list(made.parts.values())
    if options.page:
        report.lowered = made.lowered
    if options.records:
        report.recorded = {
            name: use_of_records(work.recorded(name), made.lowered[name].decisions, part.plan)
            for name, part in made.parts.items()
        }
    report.peaks = {name: page_memory(part, work.name, weights).total for name, part in made.parts.items()}
    check_profiles(options.profiles, {p.artifact.backend: p.timed for p in report.parts})
    if options.records:
        report.unused = sorted({r.target for r in work.records.records} - set(options.targets))
        report.damaged = work.records.damaged
    ports = ports_of(lowered)
    report.inputs, report.outputs, report.states = ports.inputs, without_logits(ports.outputs, work), ports.states
    report.kept, report.made = lowered.tensors.states, tuple(made_inputs(graph))
    report.text = "; ".join(target.describe() for target in work.text)
    report.generation = "; ".join(generation.describe() for generation in work.generation)
    report.answers = {given.name: given.fitted.describe() for given in work.answers}
    report.answered = frozenset(name for given in work.answers for name in given.outputs.values())
    report.filled = {
        **{p.value.name: p.describe() for p in work.pictures},
        **{s.value.name: s.describe() for s in work.sounds},
    }
    report.dimensions, report.refusals = lowered.tensors.dimensions, lowered.tensors.refusals
    if options.verify:
        with work.timed("verify"):
            report.comparisons = _verify(model, graph, lowered, report, work, weights)
            report.layers = _measure([r for own in made.all_lowered for r in own.rewritten], report.cache)
    golden = b""
    if options.golden and options.host != "js" and options.dump is None:
        with work.timed("golden"):
            golden = make_golden(graph, lowered, report.inputs, work)
    blob = weights.blob()
    parts = _by_preference(report)
    comparable = report.wasm is not None and len(parts) > 1
    artifact = Artifact(
        work.name,
        report.inputs,
        report.outputs,
        blob,
        parts,
        weights.halves,
        report.dimensions,
        report.refusals,
        weights.types,
        bundled_pictures(work),
        bundled_sounds(work),
        bundled_answers(work),
        golden,
        bundled_text(work),
        report.states,
        bundled_generation(work, ports.outputs),
        weights.starts,
        base_tolerance(graph, lowered, work) if comparable else None,
    )
    report.weights, report.weight_types, report.lossless = len(blob), weights.types, artifact.lossless
    if report.wasm is not None:
        report.memory = memory_bytes(work.name, report.wasm, artifact.weight_memory)
    return artifact


def packaging_of(model: Source, work: Work) -> Packaging:
    """The options' packaging, with what the model's file says of itself. It is read first: to read a large file again
    takes as much memory as to import it."""
    with work.timed("import"):
        card = describe_model(model, work.options.inputs)
    packages = text_packages(work.options)
    return replace(work.options.packaging, licence=card.licence, facts=tuple(card.facts()), text_packages=packages)


@dataclass(frozen=True, slots=True)
class _Parts:
    """By target the part of a bundle, and the model as it was lowered for it; `on_processor` for a processor, which is
    needed without such a target, too: to verify, and for the specifications of inputs and outputs."""

    parts: dict[str, BundlePart]
    lowered: dict[str, Lowered]
    on_processor: Lowered
    weights: Weights

    @property
    def all_lowered(self) -> list[Lowered]:
        return [self.on_processor, *(own for own in self.lowered.values() if own is not self.on_processor)]


def _make_parts(optimised: Optimised, work: Work) -> _Parts:
    """Lowers for each target of the options, within the `filters` of the work, then compiles."""
    processor = next(t for t in TARGETS.values() if isinstance(t, CpuTarget) and t.preference is not None)
    targets = [t for t in TARGETS.values() if t.name in work.options.targets]
    lowered = {t: _lower(t, optimised, work) for t in targets}
    on_processor = next((own for t, own in lowered.items() if isinstance(t, CpuTarget)), None)
    if on_processor is None:
        with work.timed("optimise"):
            on_processor = processor.lower(optimised, work)
    made = _Parts({}, {t.name: own for t, own in lowered.items()}, on_processor, Weights())
    for target, own in lowered.items():
        made.parts[target.name] = target.bundle(own, made.weights, work, optimised)
    return made


def _lower(target: CompileTarget, optimised: Optimised, work: Work) -> Lowered:
    """The model as lowered for a target of the bundle, such that it may fit `--page-memory`."""
    on_processor = isinstance(target, CpuTarget)
    model = optimised if on_processor else of_devices(optimised, work)
    while True:
        with work.timed("optimise", "" if on_processor else target.name):
            lowered = target.lower(model, work)
        if not lower_limit_early(target, lowered, work):
            return lowered


def _verified_before(model: Source, work: Work, report: Report) -> Artifact:
    """The artifact of a model whose outputs are compared before answers or tokens are made of them: which classes,
    boxes and tokens are chosen changes with any rounding."""

    def part(**changes: Any) -> Work:
        options = replace(work.options, **changes)
        return replace(work, options=options, pictures=[], sounds=[], text=[], answers=[], generation=[])

    plain = Report(report.model, report.precision, report.cache, report.seconds)
    nothing: dict[str, Any] = {
        "labels": None,
        "profiles": {},
        "golden": False,
        "canaries": False,
        "check_kernels": False,
    }
    make_artifact(model, part(answers=(), generate=None, **nothing), plain)
    artifact = make_artifact(model, part(verify=False), report)
    report.comparisons, report.uncompared, report.layers = plain.comparisons, plain.uncompared, plain.layers
    report.references = plain.references
    return artifact


def _by_preference(report: Report) -> tuple[DeviceArtifact | WasmArtifact, ...]:
    order = bundled_targets()
    return tuple(sorted((p.artifact for p in report.parts), key=lambda artifact: order.index(artifact.backend)))


def _measure(rewritten: list[Rewritten], cache: Cache) -> list[LayerError]:
    """Each layer once for each tile that a target uses."""
    from .measure_layer import measure_layer

    distinct = {(r.convolution.buffer, r.tile): r for r in reversed(rewritten)}
    return [measure_layer(r, cache) for r in distinct.values()][::-1]


def _verify(
    model: Source, graph: Graph, lowered: Lowered, report: Report, work: Work, weights: Weights
) -> list[Comparison]:
    """Compares native code and CPU modules with onnxruntime, and with halves the devices that store them, where this
    machine can run them. InternalError above the tolerance, InputError with halves: no such bundle is written."""
    halves = work.options.stores_halves
    tolerance = tolerance_of(halves=halves, winograd=bool(lowered.rewritten))
    reference = Reference(
        as_onnx(model, work.options.inputs),
        report.inputs,
        tolerance,
        halves=halves,
        dimensions=report.dimensions,
        constants=work.options.inputs.constants,
        pictures=work.pictures,
        sounds=work.sounds,
        text=work.text,
        custom=work.options.inputs.operators,
        kept=kept_of(graph),
    )
    report.references = reference.by
    models: list[Runnable] = [run_native(lowered, work), *(report.wasm.models if report.wasm else ())]
    for device in report.devices:
        if device.halves:
            try:
                models.append(device.target.run(device.program, weights.blob()))
            except InputError as error:
                report.uncompared[device.target.name] = str(error)
    comparisons = [reference.compare(m) for m in models]
    wrong = [c for c in comparisons if not c.ok]
    if wrong:
        worst = "; ".join(f"{c.backend}: output {c.output!r} errs by {c.error:.3g}" for c in wrong)
        message = f"--verify: results differ from {reference.described} by more than {wrong[0].tolerance:.1g} ({worst})"
        if halves:
            raise InputError(
                f"{message}; float16 is too coarse for this model: leave --precision {work.options.precision} out"
            )
        raise InternalError(message)
    return comparisons
