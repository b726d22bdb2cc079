"""A model file in, a bundle out: what the command line does, without the terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from .bundle import KernelInfo, WasmArtifact, WrittenFile, write_bundle
from .errors import InputError, InternalError
from .frontends.onnx import import_model
from .graph.convert_float16 import convert_float16
from .graph.ir import Graph
from .graph.passes import GRAPH_PASSES, run_graph_passes
from .graph.printer import print_graph
from .ir.nodes import Kernel
from .ir.printer import print_kernel
from .pipeline import LOWERING_PASSES, Lowered, compile_for, lower_model
from .program import Program
from .target import WASM_PLAIN, WASM_RELAXED
from .verify import Comparison, Reference, Runnable
from .wasm.linkers import LINKERS
from .wasm.model import WasmModel, build_module, render_module

TARGETS = ("wasm",)

STAGES = (
    "import",
    *dict.fromkeys(p.__name__ for p in GRAPH_PASSES),
    "build_kernel",
    "schedule_cpu",
    *(p.__name__ for p in LOWERING_PASSES),
    "llvm",
)
"""What `--dump after:STAGE` can name."""


@dataclass(frozen=True, slots=True)
class Options:
    """The command line's options. `dump` is a stage, or None."""

    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    targets: tuple[str, ...] = TARGETS
    opt_level: int = 2
    verify: bool = False
    dump: str | None = None
    linker: str = "builtin"
    force: bool = False

    def check(self) -> None:
        """Raises InputError for values that do not exist."""
        unknown = [t for t in self.targets if t not in TARGETS]
        if unknown or not self.targets:
            raise InputError(f"--targets {','.join(self.targets)}: choose from {', '.join(TARGETS)}")
        if self.dump is not None and self.dump not in STAGES:
            raise InputError(f"--dump after:{self.dump}: unknown stage; choose one of {', '.join(STAGES)}")
        if self.linker not in LINKERS:
            raise InputError(f"--wasm-linker {self.linker}: choose one of {', '.join(LINKERS)}")


@dataclass(slots=True)
class Report:
    """What was built: for the table at the end and for `--report`."""

    model: str
    seconds: dict[str, float] = field(default_factory=dict)
    operators: int = 0
    graph_nodes: int = 0
    program: Program | None = None
    code_bytes: dict[str, int] = field(default_factory=dict)
    comparisons: list[Comparison] = field(default_factory=list)
    files: list[WrittenFile] = field(default_factory=list)


Phase = Callable[[str], None]
"""Told of each phase as it begins."""


def build(model: Path, out: Path, options: Options, phase: Phase, emit: Callable[[str], None]) -> Report:
    """Compiles `model` and writes the bundle to `out`. `emit` takes dumps.

    Raises InputError and UnsupportedError for what the user can mend; nothing is then written.
    """
    options.check()
    report = Report(model.name)

    @contextmanager
    def timed(name: str) -> Iterator[None]:
        phase(name)
        start = time.perf_counter()
        yield
        report.seconds[name] = report.seconds.get(name, 0.0) + time.perf_counter() - start

    def observe(stage: str, result: Graph | Kernel) -> None:
        if stage == options.dump:
            emit(print_graph(result) if isinstance(result, Graph) else print_kernel(result))

    with timed("import"):
        graph = import_model(model, options.shapes)
        observe("import", graph)
    report.operators = len(graph.nodes)
    with timed("optimise"):
        graph = run_graph_passes(graph, GRAPH_PASSES, observe) if options.opt_level else required_passes(graph)
        report.graph_nodes = len(graph.nodes)
        lowered = lower_model(graph, observe, options.opt_level)
    modules: dict[str, bytes] = {}
    program: Program | None = None
    heap_base = 0
    runnable: list[WasmModel] = []
    for variant, target in (("relaxed", WASM_RELAXED), ("plain", WASM_PLAIN)):
        with timed("schedule"):
            made = compile_for(lowered, target, observe if program is None else _quiet, options.opt_level)
        if program is not None and made.weights != program.weights:
            raise InternalError("compile_for: the two variants of the module want their weights in different layouts")
        program = made
        with timed("generate code"):
            if options.dump == "llvm" and variant == "relaxed":
                emit(render_module(program))
            linked = build_module(program, relaxed=variant == "relaxed", linker=options.linker)
        modules[variant] = linked.module
        heap_base = max(heap_base, linked.heap_base)
        report.code_bytes[variant] = len(linked.module)
        if options.verify:
            runnable.append(WasmModel(program, linked, relaxed=variant == "relaxed"))
    assert program is not None
    report.program = program
    if options.verify:
        with timed("verify"):
            report.comparisons = _verify(model, lowered, runnable)
    with timed("write"):
        kernels = tuple(KernelInfo(s.name, s.nodes, s.ops) for s in program.steps)
        artifact = WasmArtifact(
            name=model.stem,
            inputs=program.inputs,
            outputs=program.outputs,
            weights=program.weights,
            modules=modules,
            heap_base=heap_base,
            arena_bytes=program.arena,
            kernels=kernels,
        )
        report.files = write_bundle(artifact, out, force=options.force)
    return report


def required_passes(graph: Graph) -> Graph:
    """Without optimisation: only what code generation relies on."""
    return convert_float16(graph)


def _quiet(_: str, __: Graph | Kernel) -> None:
    return None


def _verify(model: Path, lowered: Lowered, variants: list[WasmModel]) -> list[Comparison]:
    """Native and both variants against onnxruntime; InputError where one is off, so that no such bundle is written."""
    from .native.jit import host_target
    from .native.model import NativeModel

    reference = Reference(model, variants[0].program.inputs)
    native = NativeModel(compile_for(lowered, host_target()))
    models: list[Runnable] = [native, *variants]
    found = [reference.compare(m) for m in models]
    wrong = [c for c in found if not c.ok]
    if wrong:
        worst = "; ".join(f"{c.backend}: output {c.output!r} errs by {c.error:.3g}" for c in wrong)
        raise InternalError(f"--verify: results differ from onnxruntime's ({worst}); please report this with the model")
    return found
