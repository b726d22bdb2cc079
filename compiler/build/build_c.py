"""The build that writes C: a source file, its header and the weights."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

from ..bundle import BundleFile, FolderKind, WrittenFile, write_folder
from ..c.lower import PASSES
from ..c.render import COMPILED, render
from ..pipeline.compile_for import compile_for
from ..program.program import Program
from ..target import PROCESSORS, Target
from .cpu_target import CpuTarget
from .optimise_model import import_graph, optimise_model
from .report_data import Report
from .work import Work


def _headers(folder: Path) -> list[Path]:
    """Of models that this compiler wrote: each with its source and weights beside it."""
    return [
        p
        for p in folder.glob("*.h")
        if COMPILED in _first_line(p)
        and _first_line(p.with_suffix(".c")) == f'#include "{p.name}"'
        and p.with_suffix(".weights").is_file()
    ]


def _first_line(file: Path) -> str:
    if not file.is_file():
        return ""
    with file.open(encoding="utf-8", errors="replace") as text:
        return text.readline(1000).rstrip("\n")


def _foreign(folder: Path) -> list[str]:
    stems = {re.escape(p.stem) for p in _headers(folder)}
    ours = re.compile(rf"({'|'.join(stems)})\.(c|h|weights)")
    return sorted(p.name for p in folder.iterdir() if not p.is_file() or not ours.fullmatch(p.name))


C_FOLDER = FolderKind("C source of a model", lambda folder: bool(_headers(folder)), _foreign)


def processor(name: str) -> Target:
    """The facts of `--cpu`."""
    if name == "host":
        from ..native.jit import host_target

        return replace(host_target(), name="host")
    return PROCESSORS[name]


def build_c(row: CpuTarget, model: Path, out: Path, work: Work, report: Report) -> None:
    """Writes NAME.c, NAME.h and NAME.weights to `out`, and fills `report`."""
    options, tuned_as = work.options, row.tuned_as or row.name
    with work.timed("import"):
        graph = import_graph(model, work)
    report.operators = Counter(n.op for n in graph.nodes)
    with work.timed("optimise"):
        optimised = optimise_model(graph, work)
        report.graph_nodes = len(optimised.graph.nodes)
        lowered = row.lower(optimised, work)
    with work.timed("schedule"):
        program = compile_for(
            lowered,
            processor(options.cpu),
            work.observer(row.name),
            options.opt_level,
            cache=work.cache,
            choices=work.choices(tuned_as).kernels,
            passes=PASSES,
        )
    with work.timed("generate code"):
        source = render(replace(program, name=work.name))
    if options.records:
        report.recorded = {t: r for t, r in work.recorded.items() if t == tuned_as}
        report.unused = sorted({r.target for r in work.records.records} - {tuned_as})
        report.damaged = work.records.damaged
    report.inputs, report.outputs = program.inputs, program.outputs
    report.weights, report.source = len(program.weights), (row.name, program)
    with work.timed("write"):
        report.files = _write(source.name, source.code, source.header, program, out, force=options.force)


def _write(name: str, code: str, header: str, program: Program, out: Path, *, force: bool) -> list[WrittenFile]:
    files = [
        BundleFile(f"{name}.c", code.encode(), "source"),
        BundleFile(f"{name}.h", header.encode(), "source"),
        BundleFile(f"{name}.weights", program.weights, "weights"),
    ]
    return write_folder(files, out, C_FOLDER, force=force)
