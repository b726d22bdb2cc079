"""A search for the schedule of one kernel, as the page of tuning tells it: its trials, from records, and some of its
candidates, built side by side into a bundle that the page races."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from webnn_compile.bundle import BundleFile, render_bundle
from webnn_compile.choices import VERSION, Listed, Replay
from webnn_compile.codegen.render_host import kernel_text
from webnn_compile.driver.build import make_artifact_of
from webnn_compile.driver.build_wasm import WasmBuild
from webnn_compile.driver.cpu_target import CpuTarget
from webnn_compile.driver.device_target import DeviceTarget
from webnn_compile.driver.options import Options
from webnn_compile.driver.targets import TARGETS
from webnn_compile.driver.work import Work
from webnn_compile.errors import InputError
from webnn_compile.glsl.compose import compose
from webnn_compile.ir.printer import print_kernel
from webnn_compile.pipeline.weights import Weights
from webnn_compile.records.record_file import read_records
from webnn_compile.records.tuning_record import TuningRecord
from webnn_compile.schedule.schedule_cpu import schedule_cpu
from webnn_compile.system.cache import open_cache
from webnn_compile.system.recursion import deep_recursion
from webnn_compile.tune.build_trial import TrialChoices, place_as
from webnn_compile.tune.problem import KernelTask, Problem
from webnn_compile.tune.trial_model import piece_of, trial_model

SHARES = (0.0, 0.25, 0.5, 0.75)
"""The candidates that race the default: the best one, and those that so many of all are better than."""
SCHEDULES = ("schedule_simt", "schedule_fragment")
"""Stages of GPUs after which a kernel is scheduled."""
LINES = 60
"""Length of the excerpt of generated code."""

Told = tuple[dict[str, Any], list[BundleFile]]
"""Data of a search for the page, and the files of its bundle."""


def tell_searches(model: Path, records: Path, targets: Sequence[str]) -> Iterator[Told]:
    """Searches on those `targets` that the records are of. Raises InputError where the model lacks their kernels."""
    trials: dict[str, list[TuningRecord]] = {}
    for r in read_records([records]).records:
        if r.kind == "trial" and r.space == VERSION and r.failure != "illegal":
            trials.setdefault(r.target, []).append(r)
    for target in targets:
        if target in trials:
            yield _tell(model, target, records, trials[target])


def _tell(model: Path, target: str, records: Path, trials: Sequence[TuningRecord]) -> Told:
    problem = Problem(model, target, Options())
    lowered, _ = problem.lower()
    task = next((t for t in problem.kernel_tasks(lowered) if t.key == trials[0].key), None)
    if task is None:
        raise InputError(f"{records}: its trials on {target} are of no kernel of {model.name}; measure new ones")
    trials = [r for r in trials if r.key == task.key]
    chosen = _candidates(trials)
    paths = ({}, *(trials[number].choices for number in chosen))
    told = {
        "target": target,
        "folder": f"tuning/{target}",
        "kernel": task.name,
        "nodes": list(lowered.groups[task.groups[0]].origin.nodes),
        "device": trials[0].device,
        "trials": [r.ratio for r in trials],
        "candidates": [
            {
                "name": "rules" if number is None else f"trial {number + 1}",
                "ratio": 1.0 if number is None else trials[number].ratio,
                **_describe(target, task, path),
            }
            for number, path in zip((None, *chosen), paths, strict=True)
        ],
    }
    return told, _bundle(problem, task, paths)


def _candidates(trials: Sequence[TuningRecord]) -> list[int]:
    """The numbers of the trials that race, the best one first."""
    ranked = sorted((i for i, r in enumerate(trials) if r.ratio is not None), key=lambda i: trials[i].ratio or 0.0)
    return list(dict.fromkeys(ranked[int(share * len(ranked))] for share in SHARES)) if ranked else []


def _work(target: str, paths: Sequence[Mapping[str, Any]]) -> Work:
    options = Options()
    choices = {target: TrialChoices(tuple(paths))}
    return Work("kernel", options, open_cache(enabled=options.cache), lambda _: None, explicit=choices)


def _bundle(problem: Problem, task: KernelTask, paths: Sequence[Mapping[str, Any]]) -> list[BundleFile]:
    """The candidates side by side in one program, as the tuner measures them."""
    row = TARGETS[problem.target]
    if isinstance(row, DeviceTarget) and any(task.placements):
        row = place_as(row, task.placements)
    model = trial_model([task.piece] * len(paths), fill_halo=problem.fills_halos)
    artifact, _ = make_artifact_of(row, model, _work(problem.target, paths))
    return render_bundle(artifact)


@deep_recursion()
def _describe(target: str, task: KernelTask, path: Mapping[str, Any]) -> dict[str, Any]:
    """The decisions of a schedule, with the number of their options; its loops, and the code that they become."""
    row, listed = TARGETS[target], Listed(Replay(path))
    if isinstance(row, DeviceTarget):
        seen: dict[str, Any] = {}
        compiled = row.backend(Options(), seen.__setitem__).compile_kernel(task.naive, task.placements, listed).kernel
        scheduled = next(seen[stage] for stage in SCHEDULES if stage in seen)
        code = compiled.source if compiled.declarations is None else compose(compiled)
    else:
        assert isinstance(row, CpuTarget)
        assert row.facts is not None
        scheduled = schedule_cpu(task.naive, row.facts(), listed)
        code = _llvm(row, task, path)
    decisions = {name: [str(d.chosen), len(d.options)] for name, d in listed.decisions.items()}
    return {"decisions": decisions, "loops": print_kernel(scheduled), "code": _excerpt(code)}


def _llvm(row: CpuTarget, task: KernelTask, path: Mapping[str, Any]) -> str:
    work = _work(row.name, [path])
    part = row.bundle(trial_model([task.piece], fill_halo=True, warmup=0), Weights(), work)
    assert isinstance(part, WasmBuild)
    number = next(step.kernel for step in part.program.launches if piece_of(step.name) == 0)
    return kernel_text(part.program, number, work.cache)


def _excerpt(code: str) -> str:
    lines = code.strip().splitlines()
    left = len(lines) - LINES
    return "\n".join([*lines[:LINES], f"... {left} more lines"] if left > 0 else lines)
