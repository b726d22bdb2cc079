"""A model file in, a bundle out: what the command line does, without the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ..bundle import Artifact, DeviceArtifact, WasmArtifact, check_free, write_bundle
from ..costs import CPU_COSTS
from ..device.compile_for_device import choice_for
from ..errors import InputError, InternalError
from ..frontends.onnx import import_model
from ..graph.lower_graph import lower_graph
from ..graph.passes import run_graph_passes
from ..pipeline.compile_for import compile_for
from ..pipeline.lower_model import Lowered, lower_tensors
from ..pipeline.weights import Weights
from ..program.program import TensorSpec
from ..system.cache import open_cache
from ..system.limits import CompileMemory
from ..system.printable import printable
from ..system.recursion import deep_recursion
from ..tensor import Tensor
from ..tensor.choose_tile import choose_tile
from ..tensor.use_winograd import Rewritten
from .build_device import BACKENDS, build_device
from .build_wasm import build_wasm, memory_bytes
from .options import TARGETS, Options, graph_passes
from .report_data import Report
from .run_here import run_here
from .verify import FAST_MATH_TOLERANCE, HALF_TOLERANCE, TOLERANCE, Comparison, Reference, Runnable
from .work import Phase, Work

if TYPE_CHECKING:
    from .measure_layer import LayerError


def build(model: Path, out: Path, options: Options, phase: Phase, emit: Callable[[str], None]) -> Report:
    """Compiles `model` and writes the bundle to `out`. `emit` takes dumps.

    Raises InputError and UnsupportedError for what the user can mend; nothing is then written.
    """
    options.check()
    check_free(out, force=options.force)
    # What is dumped has to be made.
    known = open_cache(enabled=options.cache and options.dump is None)
    work = Work(printable(model.stem), options, known, phase, emit)
    report = Report(printable(model.name), options.precision, known, work.seconds)
    with work.timed("import"):
        graph = import_model(model, options.shapes, CompileMemory(options.compile_memory))
        work.observe("import", graph)
    report.operators = Counter(n.op for n in graph.nodes)
    with work.timed("optimise"):
        graph = run_graph_passes(graph, graph_passes(options.opt_level, options.precision), work.observe)
        report.graph_nodes = len(graph.nodes)
        with deep_recursion():
            tensors = lower_graph(graph)
        choose = choose_tile(CPU_COSTS) if options.fast_math else None
        # Other targets may need it too: to verify, and for the specifications of inputs and outputs.
        lowered = lower_tensors(graph.name, tensors, work.observe, options.opt_level, choose=choose)
    rewritten = list(lowered.rewritten)
    weights = Weights()
    if "wasm" in options.targets:
        report.wasm = build_wasm(lowered, weights, work)
    for name in (t for t in TARGETS if t in options.targets and t in BACKENDS):
        with work.timed("optimise", name):
            policy = BACKENDS[name].layouts
            choice = choice_for(BACKENDS[name]) if options.fast_math else None
            on_device = lower_tensors(graph.name, tensors, work.quiet, options.opt_level, policy, choice)
            rewritten += on_device.rewritten
        report.devices.append(build_device(name, on_device, weights, work))
    report.inputs = tuple(_spec(lowered, name, t) for name, t in lowered.tensors.inputs)
    report.outputs = tuple(_spec(lowered, name, t) for name, t in lowered.tensors.outputs)
    if options.verify:
        with work.timed("verify"):
            report.comparisons = _verify(model, lowered, report, options, weights)
            report.layers = _measure(rewritten)
    with work.timed("write"):
        backends: list[DeviceArtifact | WasmArtifact] = [d.artifact for d in report.devices]
        if report.wasm is not None:
            backends.append(report.wasm.artifact)
        blob = weights.blob()
        artifact = Artifact(work.name, report.inputs, report.outputs, blob, tuple(backends), weights.halves)
        report.weights = len(artifact.weights)
        if report.wasm is not None:
            report.memory = memory_bytes(work.name, report.wasm, artifact.weight_memory)
        report.files = write_bundle(artifact, out, force=options.force, isolation=options.coop_coep)
        known.trim()
    return report


def _spec(lowered: Lowered, name: str, t: Tensor) -> TensorSpec:
    return TensorSpec(name, t.dtype, t.shape, lowered.stored.offset[t])


def _measure(rewritten: list[Rewritten]) -> list[LayerError]:
    """Each layer once for each tile by which a target computes it."""
    from .measure_layer import measure_layer

    return [measure_layer(r) for r in {(r.convolution.buffer, r.tile): r for r in reversed(rewritten)}.values()][::-1]


def _verify(model: Path, lowered: Lowered, report: Report, options: Options, weights: Weights) -> list[Comparison]:
    """Native and what is built for the CPU against onnxruntime, with halves what is built for WebGPU, too, where this
    machine can. InternalError where one is off, InputError with halves: no such bundle is written."""
    from ..native.jit import host_target
    from ..native.model import NativeModel

    halves = options.precision == "f16"
    tolerance = HALF_TOLERANCE if halves else FAST_MATH_TOLERANCE if lowered.rewritten else TOLERANCE
    reference = Reference(model, report.inputs, tolerance, halves=halves)
    program = compile_for(lowered, host_target(), opt_level=options.opt_level, known=report.cache)
    native = NativeModel(program, known=report.cache)
    models: list[Runnable] = [native, *(report.wasm.models if report.wasm else ())]
    for device in report.devices if halves else ():
        if device.program.backend == "webgpu":
            try:
                models.append(run_here(device.program, weights.blob()))
            except InputError as error:
                report.uncompared = str(error)
    found = [reference.compare(m) for m in models]
    wrong = [c for c in found if not c.ok]
    if wrong:
        worst = "; ".join(f"{c.backend}: output {c.output!r} errs by {c.error:.3g}" for c in wrong)
        message = f"--verify: results differ from onnxruntime's by more than {wrong[0].tolerance:.1g} ({worst})"
        if halves:
            raise InputError(f"{message}; float16 is too coarse for this model: leave --precision f16 out")
        raise InternalError(message)
    return found
