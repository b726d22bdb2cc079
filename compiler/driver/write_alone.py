"""Targets that a build is for alone, in place of a bundle: a model as C source, and as a shared library."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from ..bundle import BundleFile, FolderKind, Others, write_folder
from ..c.lower import PASSES
from ..c.render import COMPILED, identifier, kernel_source, render, render_weights
from ..codegen.c_ports import Ports
from ..codegen.render_host import kernel_text
from ..cpu.compile_for_cpu import KernelPass, compile_for_cpu, plan_for_cpu
from ..library.render import Library, render_library
from ..program.program import Program
from ..records.record_use import use_of_records
from ..system.cache import Cache
from ..target import PROCESSORS, Target
from .cpu_target import CpuTarget
from .optimise_model import import_graph, optimise_model
from .profiles import check_profiles
from .quantize_first import Source
from .report_data import Alone, Report
from .work import Work


@dataclass(frozen=True, slots=True)
class Writer:
    """`makes` is a word for what is written. `files` makes a folder of that `kind` of a program, for an entry of
    `--cpu`, by default `cpu`; `passes` lower its kernels, None for those of LLVM. `manual` is the suffix of the file
    that says how the others are used. `embeds`: with `--embed-weights` these are constants of one of the files.
    `kernel_text` is the code of one of the program's kernels, in `language`."""

    makes: str
    kind: FolderKind
    files: Callable[[Program, str, Work], list[BundleFile]]
    cpu: str
    manual: str
    language: str
    kernel_text: Callable[[Program, int, Cache], str]
    passes: tuple[KernelPass, ...] | None = None
    embeds: bool = False


def processor(name: str) -> Target:
    """The facts of `--cpu`."""
    if name == "host":
        from ..native.jit import host_target

        return replace(host_target(), name="host", short_dots="")  # C has no such operation
    return PROCESSORS[name]


def write_alone(
    row: CpuTarget, writer: Writer, model: Source, out: Path, work: Work, report: Report, others: Others
) -> None:
    """Writes the model's files to `out`, with the `others`, and fills `report`."""
    options, tuned_as = work.options, row.tuned_as or row.name
    cpu = options.cpu or writer.cpu
    with work.timed("import"):
        graph = import_graph(model, work)
    report.operators = Counter(n.op for n in graph.nodes)
    with work.timed("optimise"):
        optimised = optimise_model(graph, work)
        report.graph_nodes = len(optimised.graph.nodes)
        lowered = row.lower(optimised, work)
    with work.timed("schedule"):
        target, level = processor(cpu), options.opt_level
        plan = plan_for_cpu(lowered, [target], work.choices(tuned_as).kernels, level, work.cache)
        program = compile_for_cpu(
            lowered,
            target,
            work.observer(row.name),
            level,
            cache=work.cache,
            plan=plan,
            passes=writer.passes,
        )
    with work.timed("generate code"):
        files = writer.files(replace(program, name=work.name), cpu, work)
    if options.records:
        report.recorded = {tuned_as: use_of_records(work.recorded(tuned_as), lowered.decisions, plan)}
        report.unused = sorted({r.target for r in work.records.records} - {tuned_as})
        report.damaged = work.records.damaged
    report.inputs, report.outputs, report.dimensions = program.inputs, program.outputs, program.dimensions
    report.refusals = program.refusals
    report.weights, report.weight_types = len(program.weights), program.weight_types
    report.alone, report.cpu = Alone(row.name, program, plan, target, writer), cpu
    if options.page:
        report.graphs, report.lowered = (graph, optimised.graph), {row.name: lowered}
    check_profiles(options.profiles, {row.name: program.launches})
    report.manual = next(f.name for f in files if f.name.endswith(writer.manual))
    with work.timed("write"):
        write_folder(files, out, writer.kind, force=options.force, others=others)


def _c_files(program: Program, _: str, work: Work) -> list[BundleFile]:
    embedded = work.options.embed_weights
    source = render(program, embedded=embedded, tested=True)
    ports = Ports.of(program)
    arguments = [
        "weights",
        "prepared",
        "arena",
        *(["state"] if ports.states else []),
        *(["sizes"] if ports.vary else []),
    ]
    arguments += [f"inputs[{i}]" for i in range(len(program.inputs))]
    arguments += [f"outputs[{i}]" for i in range(len(program.outputs))]
    library = render_library(
        program,
        source.name,
        [f'#include "{source.name}.h"', "#define PROCESSOR_SUITS 1"],
        f"{source.name}_prepare(weights, prepared);",
        [f"{'return ' if ports.returns else ''}{source.name}_run({', '.join(arguments)});"],
        "openmp.c",
    )
    return [
        BundleFile(f"{source.name}.c", source.code.encode(), "source"),
        BundleFile(f"{source.name}.h", source.header.encode(), "source"),
        BundleFile(f"{source.name}_self_test.h", source.self_test.encode(), "source"),
        BundleFile(f"{source.name}_library.c", library.source.encode(), "source"),
        *(
            [BundleFile(f"{source.name}_weights.c", render_weights(source.name, program).encode(), "source")]
            if embedded
            else []
        ),
        *_common(program, source.name, library),
    ]


def _library_files(program: Program, cpu: str, work: Work) -> list[BundleFile]:
    from ..native.library import make_library

    name = identifier(program.name)
    library = make_library(program, name, cpu, work.cache)
    return [BundleFile(f"lib{name}.so", library.data, "library"), *_common(program, name, library.texts)]


def _common(program: Program, name: str, library: Library) -> list[BundleFile]:
    return [
        BundleFile(f"{name}_library.h", library.header.encode(), "source"),
        BundleFile(f"{name}.hpp", library.cpp.encode(), "source"),
        BundleFile(f"{name}.weights", program.weights, "weights"),
    ]


_LIBRARY_HEADER = "_library.h"
_COMMON = (_LIBRARY_HEADER, ".hpp", ".weights")


def _kind(
    what: str, own: tuple[str, ...], name_of: Callable[[Path], str | None], others: tuple[str, ...] = ()
) -> FolderKind:
    """`name_of` is the name of the model of which there is such a file, `own` are the patterns of its files, `others`
    of those that may be there."""

    def names(folder: Path) -> list[str]:
        names = {name for p in folder.iterdir() if p.is_file() and (name := name_of(p))}
        return [name for name in names if all((folder / p.format(name)).is_file() for p in own)]

    def foreign(folder: Path) -> list[str]:
        ours = {p.format(name) for name in names(folder) for p in (*own, *others)}
        return sorted(p.name for p in folder.iterdir() if p.name not in ours or not p.is_file())

    return FolderKind(what, lambda folder: bool(names(folder)), foreign)


def _first_line(file: Path) -> str:
    with file.open(encoding="utf-8", errors="replace") as text:
        return text.readline(1000).rstrip("\n")


def _source_name(file: Path) -> str | None:
    """The name of a source file that this compiler wrote."""
    ours = file.suffix == ".c" and _first_line(file) == f'#include "{file.stem}.h"'
    header = file.with_suffix(".h")
    return file.stem if ours and header.is_file() and COMPILED in _first_line(header) else None


def _library_name(file: Path) -> str | None:
    """The name of a library whose header this compiler wrote."""
    ours = file.name.endswith(_LIBRARY_HEADER) and COMPILED.rstrip(".") in _first_line(file)
    return file.name.removesuffix(_LIBRARY_HEADER) if ours else None


_SHARED = tuple(f"{{}}{suffix}" for suffix in _COMMON)

C_SOURCE = Writer(
    "source",
    _kind(
        "C source of a model",
        ("{}.c", "{}.h", "{}_library.c", *_SHARED),
        _source_name,
        ("{}_weights.c", "{}_self_test.h"),
    ),
    _c_files,
    cpu="generic",
    manual=".h",
    language="c",
    kernel_text=lambda program, number, _: kernel_source(program, number),
    passes=PASSES,
    embeds=True,
)
LIBRARY = Writer(
    "library",
    _kind("library of a model", ("lib{}.so", *_SHARED), _library_name),
    _library_files,
    cpu="host",
    manual=_LIBRARY_HEADER,
    language="llvm",
    kernel_text=kernel_text,
)
