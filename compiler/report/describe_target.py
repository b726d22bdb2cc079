"""A target's part of a build."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest

from ..codegen.render_host import kernel_text
from ..driver.build_device import DeviceBuild
from ..driver.build_wasm import WasmBuild
from ..driver.options import Options
from ..driver.profiles import Profile
from ..driver.report_data import Alone, Report
from ..driver.targets import TARGETS
from ..gpu.partition_host import Segment
from ..ir.layout import Layout
from ..ir.sizes import shown
from ..pipeline.lowered import Lowered
from ..pipeline.plan_kernels import KernelPlan
from ..program.device_program import DeviceProgram, HostCall, Placement
from ..program.device_program import Launch as DeviceLaunch
from ..program.find_prepared import find_prepared
from ..program.live_ranges import owner_of
from ..program.program import Launch, Program
from ..system.run_passes import ignore
from ..tensor import Tensor
from ..tensor.steps import leaves
from .describe_kernels import Launched, describe_cpu_kernels, describe_device_kernels
from .describe_memory import describe_arena, describe_storages
from .page_data import Note, Peak, Prepared, Step, Target

Measure = Callable[[int], Peak]
"""The peak of this machine's processor in vectors of so many floats."""

Planned = Sequence[tuple[tuple[int, ...], Launch | DeviceLaunch | HostCall]]
"""The steps of a program, with the numbers of the groups that each covers."""


def describe_targets(report: Report, options: Options, measure: Measure) -> Iterator[Target]:
    """All targets of a build, in the order of the options."""
    found = {p.artifact.backend: p for p in report.parts}
    for name in options.targets:
        if report.alone is not None:
            yield _alone(report, report.alone, options, measure)
            continue
        part = found[name]
        if isinstance(part, DeviceBuild):
            yield _device(report, part, options)
        elif isinstance(part, WasmBuild):
            yield _wasm(report, part, options, measure)


def _alone(report: Report, alone: Alone, options: Options, measure: Measure) -> Target:
    program, writer, lowered = alone.program, alone.writer, report.lowered[alone.target]
    planned = _on_processor(lowered, program)
    kernels = describe_cpu_kernels(
        program,
        _launched(planned, alone.plan),
        alone.facts,
        options.opt_level,
        lambda number: writer.kernel_text(program, number, report.cache),
    )
    code = sum(f.bytes for f in report.files if f.kind not in ("weights",))
    return Target(
        alone.target,
        TARGETS[alone.target].about,
        writer.language,
        kernels,
        _steps(lowered, planned, alone.plan, options.profiles.get(alone.target)),
        describe_arena(lowered, program),
        code,
        _prepared(program),
        join_notes((*_of_layers(lowered), *_of_records(alone.plan))),
        _peak(options, alone.target, alone.facts.lanes, measure),
    )


def _wasm(report: Report, build: WasmBuild, options: Options, measure: Measure) -> Target:
    name, program = build.artifact.backend, build.program
    lowered = report.lowered[name]
    planned = _on_processor(lowered, program)
    kernels = describe_cpu_kernels(
        program,
        _launched(planned, build.plan),
        build.target,
        options.opt_level,
        lambda number: kernel_text(program, number, report.cache),
    )
    return Target(
        name,
        TARGETS[name].about,
        "llvm",
        kernels,
        _steps(lowered, planned, build.plan, options.profiles.get(name)),
        describe_arena(lowered, program),
        next(iter(build.code_bytes.values())),
        _prepared(program),
        join_notes((*_of_layers(lowered), *_of_records(build.plan))),
        _peak(options, name, build.target.lanes, measure),
    )


def _device(report: Report, build: DeviceBuild, options: Options) -> Target:
    row, program = build.target, build.program
    lowered = report.lowered[row.name]
    taken: Iterator[int | Segment] = leaves(build.partition.steps)
    groups = (step.groups if isinstance(step, Segment) else (step,) for step in taken)
    planned = list(zip(groups, program.work, strict=True))
    given = options.peaks.get(row.name)
    return Target(
        row.name,
        row.about,
        row.stages()[-1],
        describe_device_kernels(
            program, _launched(planned, build.plan), build.without_canary, row.backend(options, ignore)
        ),
        _steps(lowered, planned, build.plan, options.profiles.get(row.name)),
        describe_storages(program),
        build.code_bytes,
        _prepared(program),
        join_notes((*_of_device(build), *_of_layers(lowered), *_of_records(build.plan))),
        None if given is None else Peak(*given),
    )


def _peak(options: Options, target: str, lanes: int, measure: Measure) -> Peak:
    given = options.peaks.get(target)
    return measure(lanes) if given is None else Peak(*given)


def _on_processor(lowered: Lowered, program: Program) -> Planned:
    return [((group,), launch) for group, launch in zip(leaves(lowered.steps), program.launches, strict=True)]


def _launched(planned: Planned, plan: KernelPlan) -> Mapping[int, Launched]:
    """The kernels that a run launches, by their number."""
    found: dict[int, Launched] = {}
    for number, (groups, step) in enumerate(planned):
        if not isinstance(step, HostCall):
            first = found.setdefault(step.kernel, Launched(plan[groups[0]], ()))
            found[step.kernel] = replace(first, steps=(*first.steps, number))
    return found


def _steps(lowered: Lowered, planned: Planned, plan: KernelPlan, profile: Profile | None) -> tuple[Step, ...]:
    before = _before(lowered, planned)
    described = []
    for number, ((groups, step), timed) in enumerate(zip_longest(planned, profile or ())):
        host = step.reason if isinstance(step, HostCall) else ""
        result = lowered.groups[groups[-1]].output
        placements = () if host else plan[groups[0]].placements
        described.append(
            Step(
                step.name,
                None if isinstance(step, HostCall) else step.kernel,
                step.nodes,
                step.ops,
                () if isinstance(step, HostCall) else step.forms,
                f"{result.dtype}{shown(result.shape)}",
                _layout(lowered, result, placements[-1] if placements else None),
                before[number],
                host,
                None if timed is None else timed.ms,
                1 if timed is None else timed.count,
            )
        )
    return tuple(described)


def _before(lowered: Lowered, planned: Planned) -> list[tuple[int, ...]]:
    """By step the earlier ones that write what it reads."""
    writers: dict[Tensor, list[int]] = {}
    before = []
    for number, (groups, _) in enumerate(planned):
        read = dict.fromkeys(t for g in groups for t in lowered.groups[g].reads if not t.is_constant)
        found = (writers.get(t) or writers.get(owner_of(t, lowered.aliases)) or [] for t in read)
        before.append(tuple(sorted({n for numbers in found for n in numbers})))
        for g in groups:
            output = lowered.groups[g].output
            for t in {output, owner_of(output, lowered.aliases)}:
                writers.setdefault(t, []).append(number)
    return before


def _layout(lowered: Lowered, t: Tensor, place: Placement | None) -> str:
    layout = lowered.layouts.get(t)
    text = "row-major" if layout is None else layout_text(layout)
    if place is None:
        return text
    return f"{text}; texture of {place.width} x {place.height} x {place.layers}, {'image' if place.tile else 'linear'}"


def layout_text(layout: Layout) -> str:
    """In words."""
    rank = len(layout.shape)
    if layout.order == tuple(range(rank)):
        parts = ["row-major"]
    elif layout.order == (0, *range(2, rank), 1):
        parts = ["channels last"]
    else:
        parts = [f"order {list(layout.order)}"]
    if any(map(any, layout.pad)):
        parts.append("halo " + ", ".join(f"{low}+{high}" for low, high in layout.pad))
    parts += [f"axis {axis} in multiples of {n}" for axis, n in enumerate(layout.align) if n > 1]
    parts += [f"blocks of {b.size} of axis {b.axis}" for b in layout.blocks]
    return ", ".join(parts)


def _prepared(program: Program | DeviceProgram) -> tuple[Prepared, ...]:
    found = (Prepared(f"{' + '.join(p.nodes)} ({' + '.join(p.operators)})", p.bytes) for p in find_prepared(program))
    return tuple(sorted(found, key=lambda p: -p.bytes))


def join_notes(each: Iterable[tuple[str, str, str]]) -> tuple[Note, ...]:
    """Notes by where and why; each has all that these are the same for."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for what, where, why in each:
        found.setdefault((where, why), {})[what] = None
    return tuple(Note(tuple(whats), where, why) for (where, why), whats in found.items())


def _of_device(build: DeviceBuild) -> Iterator[tuple[str, str, str]]:
    """Parts on the host, kernels without a canary, and precision."""
    for call in build.on_host:
        what = f"{', '.join(call.nodes)} ({', '.join(call.ops)})"
        yield what, "on the processor, in WebAssembly", call.reason
    for number, reason in build.without_canary.items():
        yield f"{number} {build.program.kernels[number].name}", "not checked at load: no canary", reason
    if build.halves:
        yield "results between kernels", "stored as float16", "by --precision"
    if build.arithmetic.note:
        yield "all kernels", "computed in float32", build.arithmetic.note
    for layer in build.arithmetic.layers:
        what = ", ".join(layer.nodes) or layer.kernel
        if layer.kept:
            yield what, "computed in float32", layer.kept
        else:
            yield what, "computed in float16", "measured errors allow it"


def _of_layers(lowered: Lowered) -> Iterator[tuple[str, str, str]]:
    """Decisions that are made before kernels exist."""
    for d in lowered.decisions:
        options, chosen = d.decision.options, d.decision.chosen
        if len(options) > 1:
            why = "preferred by the cost model" if chosen == options[0] else "by records of webnn-tune"
            yield d.tensor.name, f"{d.name} = {chosen}", why


def _of_records(plan: KernelPlan) -> Iterator[tuple[str, str, str]]:
    for k in plan.values():
        if k.refusal is not None:
            yield k.naive.name, "scheduled by default, not by its record", k.refusal
