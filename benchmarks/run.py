"""A whole run: everything is made, then engines are measured in turns, round after round."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import onnx
from webnn_compile.driver.build import build
from webnn_compile.driver.options import Options
from webnn_compile.errors import UnsupportedError
from webnn_compile.frontends.onnx import import_model

from .cases import Case, find_case, write_case
from .engines import ENGINES, Engine
from .first import OF_OTHERS, OF_OURS, compress_files
from .folders import HERE
from .measure import Job, in_process, measure
from .peers import install
from .plan_tfjs import write_plan
from .results import Results, facts
from .summary import Key


@dataclass(frozen=True, slots=True)
class Settings:
    """`shapes` fixes free dimensions of models that are given as files. `kernels`: how long each kernel takes, too.
    `line` is that of `Job`."""

    cases: Sequence[str]
    engines: Sequence[str]
    browsers: Sequence[str]
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    rounds: int = 3
    runs: int = 20
    warmup: int = 3
    seconds: float = 20
    timeout: float = 180
    kernels: bool = True
    line: float = 0


def run(settings: Settings, say: Callable[[str], None]) -> Results:
    """Measures; `say` takes lines of progress. InputError for what the user can mend; an engine that fails is a
    result."""
    engines = [ENGINES[name] for name in settings.engines]
    results = Results(facts({"rounds": settings.rounds, "runs": settings.runs, "warmup": settings.warmup}))
    if any(e.page and not e.ours for e in engines):
        say("installing the other engines")
        install()
        if settings.line:
            compress_files(HERE / "node_modules", OF_OTHERS)
    unmade: dict[tuple[str, str], str] = {}
    for name in settings.cases:
        say(f"preparing {name}")
        case = find_case(name, settings.shapes)
        unmade |= {(name, need): why for need, why in prepare(case, engines).items()}
        if settings.line:
            compress_files(case.folder, OF_OURS)
    for number in range(settings.rounds):
        for name in settings.cases:
            for key in _places(name, engines, settings.browsers):
                rounds = results.measured.setdefault(key, [])
                result = _measure(key, settings, rounds, unmade)
                rounds.append(result)
                say(f"[{number + 1}/{settings.rounds}] {' '.join(filter(None, key))}: {_outcome(result)}")
    if settings.kernels:
        for name in settings.cases:
            for browser in _profiled(engines, settings.browsers):
                say(f"kernels of {name}, {browser or 'native'}")
                request = {"case": name, "shapes": dict(settings.shapes), "browser": browser}
                results.profiles.append(request | in_process("profile", request, settings.timeout))
    return results


def prepare(case: Case, engines: Sequence[Engine]) -> dict[str, str]:
    """Writes what the engines read; returns what could not be made, and why."""
    write_case(case)
    failed: dict[str, str] = {}
    for need in dict.fromkeys(e.needs for e in engines if e.needs):
        try:
            if need == "plan":
                write_plan(case.graph(), case.folder)
            else:
                targets = tuple(dict.fromkeys(str(e.options["backend"]) for e in engines if e.needs == need))
                inputs = case.fixed if need == "bundle-fixed" else case.given
                options = Options(inputs, targets=targets, fast_math=need != "bundle-direct", force=True)
                build(case.model, case.folder / need, options, lambda _: None, lambda _: None)
        except UnsupportedError as error:
            failed[need] = str(error)
    if any(e.name.startswith("onnxruntime-web") for e in engines):
        # Constants with which other engines fold what depends on the shapes of inputs.
        _write_fixed(case)
    return failed


def _write_fixed(case: Case) -> None:
    """The model with the shapes of its inputs fixed, which lets every engine plan as much as ours, but for sizes that
    vary for ours, too."""
    model = onnx.load(case.model)
    shapes = {v.name: v.shape for v in import_model(case.model, case.given).inputs}
    for value in model.graph.input:
        if value.name in shapes:
            dimensions = value.type.tensor_type.shape.dim
            for dimension, extent in zip(dimensions, shapes[value.name], strict=True):
                if isinstance(extent, int):
                    dimension.dim_value = extent
    onnx.save(model, case.folder / "peers.onnx")


def _places(case: str, engines: Sequence[Engine], browsers: Sequence[str]) -> list[Key]:
    native: list[Key] = [(case, None, e.name) for e in engines if e.page is None]
    return native + [(case, b, e.name) for b in browsers for e in engines if e.page is not None]


def _profiled(engines: Sequence[Engine], browsers: Sequence[str]) -> list[str | None]:
    names = [e.name for e in engines]
    places: list[str | None] = [None] if "native" in names else []
    return places + (list(browsers) if "ours-wasm" in names else [])


def _measure(
    key: Key, settings: Settings, before: Sequence[Mapping[str, Any]], unmade: Mapping[tuple[str, str], str]
) -> dict[str, Any]:
    case, browser, engine = key
    need = ENGINES[engine].needs
    if need is not None and (case, need) in unmade:
        return {"failed": unmade[case, need]}
    if before and all("failed" in r for r in before):
        return {"failed": before[-1]["failed"]}  # it would fail again
    job = Job(case, settings.shapes, engine, browser, settings.warmup, settings.runs, settings.seconds, settings.line)
    return measure(job, settings.timeout)


def _outcome(result: Mapping[str, Any]) -> str:
    if "failed" in result:
        return f"failed: {result['failed']}"
    busy = "" if result["others"] is None else f", others {result['others']:.1f} cores"
    times = result["times_ms"] or [result["start_ms"] + result["first_ms"]]
    return f"{statistics.median(times):.2f} ms, error {result['error']:.0e}{busy}"
