"""A model file in, a bundle out: what the command line does, without the terminal."""

from __future__ import annotations

import importlib.util
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from .bundle import Artifact, KernelInfo, WasmArtifact, WrittenFile, check_free, write_bundle
from .cache import Cache, open_cache
from .compile_ahead import compile_ahead
from .errors import InputError, InternalError
from .frontends.onnx import import_model
from .graph.convert_float16 import convert_float16
from .graph.ir import Graph
from .graph.passes import GRAPH_PASSES, GraphPass, run_graph_passes
from .graph.printer import print_graph
from .ir.nodes import Kernel
from .ir.printer import print_kernel
from .pipeline import LOWERING_PASSES, Lowered, compile_for, lower_model
from .program import Program, check_wasm32
from .report import printable
from .target import WASM_PLAIN, WASM_RELAXED, Target
from .tensor.choose_tile import choose_tile
from .verify import FAST_MATH_TOLERANCE, TOLERANCE, Comparison, Reference, Runnable
from .wasm.linkers import LINKERS
from .wasm.model import WasmModel, build_module, render_module

if TYPE_CHECKING:
    from .measure_layer import LayerError

TARGETS = ("wasm",)

VARIANTS: tuple[tuple[str, Target], ...] = (("relaxed", WASM_RELAXED), ("plain", WASM_PLAIN))
"""Of the wasm module: with relaxed SIMD and without."""

REQUIRED_PASSES: tuple[GraphPass, ...] = (convert_float16,)
"""What code generation relies on: the only graph passes of `--opt-level 0`."""


def stages(opt_level: int) -> tuple[str, ...]:
    """What `--dump after:STAGE` can name, in order."""
    graph = dict.fromkeys(p.__name__ for p in _graph_passes(opt_level))
    return ("import", *graph, "build_kernel", "schedule_cpu", *(p.__name__ for p in LOWERING_PASSES), "llvm")


def _graph_passes(opt_level: int) -> tuple[GraphPass, ...]:
    return GRAPH_PASSES if opt_level else REQUIRED_PASSES


@dataclass(frozen=True, slots=True)
class Options:
    """The command line's options. `dump` is a stage; it and `report` may be None.

    So many `processes` compile kernels, where there are many; None is one for each core. A program that asks for more
    than one must be importable without running.
    """

    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    targets: tuple[str, ...] = TARGETS
    opt_level: int = 2
    fast_math: bool = True
    verify: bool = False
    dump: str | None = None
    linker: str = "builtin"
    coop_coep: bool = False
    force: bool = False
    cache: bool = True
    processes: int | None = 1
    report: Path | None = None

    def check(self) -> None:
        """Raises InputError for what can be known to fail before any work is done."""
        unknown = [t for t in self.targets if t not in TARGETS]
        if unknown or not self.targets:
            raise InputError(f"--targets {','.join(self.targets)}: choose from {', '.join(TARGETS)}")
        if self.dump is not None and self.dump not in stages(self.opt_level):
            known = ", ".join(stages(self.opt_level))
            raise InputError(
                f"--dump after:{self.dump}: no stage of --opt-level {self.opt_level}; choose one of {known}"
            )
        if self.linker not in LINKERS:
            raise InputError(f"--wasm-linker {self.linker}: choose one of {', '.join(LINKERS)}")
        if self.report is not None:
            folder = self.report.resolve().parent
            if not folder.is_dir():
                raise InputError(f"--report {self.report}: there is no folder {folder}; make it first")
            if self.report.is_dir():
                raise InputError(f"--report {self.report} is a folder; give the path of a file")
        for package in ("onnxruntime", "wasmtime") if self.verify else ():
            if importlib.util.find_spec(package) is None:
                raise InputError(f"--verify needs the package {package}: pip install 'webnn-compile[verify]'")


@dataclass(slots=True)
class Report:
    """What was built: for the table at the end and for `--report`. `operators` counts the model's nodes by operator,
    `seconds` are by phase, `code_bytes` by variant."""

    model: str
    cache: Cache
    seconds: dict[str, float] = field(default_factory=dict)
    operators: Counter[str] = field(default_factory=Counter)
    graph_nodes: int = 0
    program: Program | None = None
    code_bytes: dict[str, int] = field(default_factory=dict)
    comparisons: list[Comparison] = field(default_factory=list)
    layers: list[LayerError] = field(default_factory=list)
    files: list[WrittenFile] = field(default_factory=list)


Phase = Callable[[str], None]
"""Told of each phase as it begins."""


def build(model: Path, out: Path, options: Options, phase: Phase, emit: Callable[[str], None]) -> Report:
    """Compiles `model` and writes the bundle to `out`. `emit` takes dumps.

    Raises InputError and UnsupportedError for what the user can mend; nothing is then written.
    """
    options.check()
    check_free(out, force=options.force)
    # What is dumped has to be made.
    known = open_cache(enabled=options.cache and options.dump is None)
    report = Report(printable(model.name), cache=known)

    @contextmanager
    def timed(name: str, detail: str = "") -> Iterator[None]:
        phase(f"{name} ({detail})" if detail else name)
        start = time.perf_counter()
        yield
        report.seconds[name] = report.seconds.get(name, 0.0) + time.perf_counter() - start

    def observe(stage: str, result: Graph | Kernel) -> None:
        if stage == options.dump:
            emit(print_graph(result) if isinstance(result, Graph) else print_kernel(result))

    with timed("import"):
        graph = import_model(model, options.shapes)
        observe("import", graph)
    report.operators = Counter(n.op for n in graph.nodes)
    with timed("optimise"):
        graph = run_graph_passes(graph, _graph_passes(options.opt_level), observe)
        report.graph_nodes = len(graph.nodes)
        choose = choose_tile if options.fast_math else None
        lowered = lower_model(graph, observe, options.opt_level, choose=choose)
    _check_size(printable(model.stem), lowered)
    modules: dict[str, bytes] = {}
    shared_at: dict[str, int] = {}
    heap_base = 0
    runnable: list[WasmModel] = []
    if options.dump is None and options.processes != 1:
        with timed("schedule", "in several processes"):
            compile_ahead(lowered, [target for _, target in VARIANTS], known, options.opt_level, options.processes)
    for variant, target in VARIANTS:
        detail = f"{variant} SIMD"
        with timed("schedule", detail):
            # What is dumped is the first variant alone.
            program = compile_for(lowered, target, _quiet if modules else observe, options.opt_level, known=known)
        if report.program is not None and _constants(program) != _constants(report.program):
            raise InternalError("compile_for: the two variants of the module want their weights in different layouts")
        with timed("generate code", detail):
            if options.dump == "llvm" and not modules:
                emit(render_module(program))
            linked = build_module(program, relaxed=variant == "relaxed", linker=options.linker, known=known)
        report.program = program
        modules[variant] = linked.module
        if linked.shared_at is not None:
            shared_at[variant] = linked.shared_at
        heap_base = max(heap_base, linked.heap_base)
        report.code_bytes[variant] = len(linked.module)
        if options.verify:
            runnable.append(WasmModel(program, linked, relaxed=variant == "relaxed"))
    if options.verify:
        with timed("verify"):
            report.comparisons = _verify(model, lowered, runnable, options.opt_level, known)
            report.layers = _measure(lowered)
    with timed("write"):
        wasm = WasmArtifact(
            modules=modules,
            heap_base=heap_base,
            arena_bytes=program.arena,
            kernels=tuple(KernelInfo(s.name, s.nodes, s.ops) for s in program.steps),
            prepared_bytes=program.prepared,
            shared_at=shared_at,
        )
        artifact = Artifact(printable(model.stem), program.inputs, program.outputs, program.weights, (wasm,))
        report.files = write_bundle(artifact, out, force=options.force, isolation=options.coop_coep)
        known.trim()
    return report


def _constants(program: Program) -> tuple[bytes, int]:
    return program.weights, program.prepared


def _quiet(_: str, __: Graph | Kernel) -> None:
    return None


def _check_size(name: str, lowered: Lowered) -> None:
    """InputError for a model too large for wasm32, before code is generated for it."""
    constants = {t: t.buffer.size * t.dtype.bytes for g in lowered.groups for t in g.reads if t.is_constant}
    check_wasm32(name, 0, sum(constants.values()), lowered.stored.peak)


def _measure(lowered: Lowered) -> list[LayerError]:
    from .measure_layer import measure_layer

    return [measure_layer(r) for r in lowered.rewritten]


def _verify(model: Path, lowered: Lowered, variants: list[WasmModel], opt_level: int, known: Cache) -> list[Comparison]:
    """Native and both variants against onnxruntime. InternalError where one is off: no such bundle is written."""
    from .native.jit import host_target
    from .native.model import NativeModel

    tolerance = FAST_MATH_TOLERANCE if lowered.rewritten else TOLERANCE
    reference = Reference(model, variants[0].program.inputs, tolerance)
    native = NativeModel(compile_for(lowered, host_target(), opt_level=opt_level, known=known), known=known)
    models: list[Runnable] = [native, *variants]
    found = [reference.compare(m) for m in models]
    wrong = [c for c in found if not c.ok]
    if wrong:
        worst = "; ".join(f"{c.backend}: output {c.output!r} errs by {c.error:.3g}" for c in wrong)
        raise InternalError(
            f"--verify: results differ from onnxruntime's by more than {wrong[0].tolerance:.1g} ({worst})"
        )
    return found
