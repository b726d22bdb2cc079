"""The targets that this machine runs beside each other: one model, runs in turns."""

from __future__ import annotations

import contextlib
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import webnn_compile
from webnn_compile.cli.remote_device import browser_device
from webnn_compile.driver.build import build
from webnn_compile.driver.options import Options
from webnn_compile.errors import InputError

from .cases import Case
from .tables import Grid

Array = np.ndarray[Any, np.dtype[Any]]
Run = Callable[[Mapping[str, Array]], Sequence[Array]]

DEFAULT = ("native", "library", "c:gcc", "c:clang", "opencl", "webgl", "cuda", "tinygrad")
"""Targets: "c" with the compiler to use, those of a GPU with a precision (cuda:tf32); "library" is what
`webnn-compile --targets native` writes. tinygrad runs on the OpenCL device that is ours, too."""
BROWSERS = ("chromium", "firefox")
"""With a backend of theirs, as in firefox:webgl; inputs and outputs pass through a WebSocket."""
PAUSE = 0.03
"""Seconds between runs: threads that wait for the next loop of the one before have then gone to sleep."""
DEADLINE = 600.0
"""Seconds that a browser has to load a model, and for a run."""


@dataclass(frozen=True, slots=True)
class Timed:
    """`times` are milliseconds of runs, `error` is relative to the largest element of onnxruntime's result; `missing`
    says why there is none."""

    name: str
    times: tuple[float, ...] = ()
    error: float = 0.0
    missing: str = ""


def measure_targets(case: Case, names: Sequence[str], threads: int, rounds: int) -> list[Timed]:
    """Every target once in each round. Winograd's algorithm is used where ours is the target."""
    with contextlib.ExitStack() as opened:
        return _measure(case, names, threads, rounds, opened)


def _measure(case: Case, names: Sequence[str], threads: int, rounds: int, opened: contextlib.ExitStack) -> list[Timed]:
    inputs, expected = case.inputs(), list(case.outputs().values())
    runs: dict[str, Run] = {}
    missing: dict[str, str] = {}
    errors: dict[str, float] = {}
    for name in names:
        try:
            run = _prepare(case, name, threads, opened)
            results = [run(inputs) for _ in range(3)][-1]
        except (InputError, ImportError, AttributeError, RuntimeError) as error:
            missing[name] = str(error).splitlines()[0].partition("; ")[0]
            continue
        runs[name] = run
        errors[name] = max(
            float(np.abs(a - b).max() / max(1.0, np.abs(b).max())) for a, b in zip(results, expected, strict=True)
        )
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            time.sleep(PAUSE)
            start = time.perf_counter()
            run(inputs)
            times[name].append((time.perf_counter() - start) * 1e3)
    return [
        Timed(name, tuple(times[name]), errors[name]) if name in runs else Timed(name, missing=missing[name])
        for name in names
    ]


def target_grid(case: str, threads: int, timed: Sequence[Timed]) -> Grid:
    """Ratios are to the first target's runs of the same round."""
    base = timed[0].times
    rows = []
    for t in timed:
        if t.missing:
            rows.append((t.name, "", "", "", t.missing))
            continue
        ratio = statistics.median(own / other for own, other in zip(t.times, base, strict=True))
        times = f"{statistics.median(t.times):.1f}", f"{min(t.times):.1f}"
        rows.append((t.name, *times, f"{ratio:.2f}", f"{t.error:.0e}"))
    title = f"{case}, {threads} thread{'s' if threads > 1 else ''}, {len(base)} rounds"
    return Grid(title, ("target", "median ms", "min ms", f"ratio to {timed[0].name}", "error"), tuple(rows), 1)


def _prepare(case: Case, name: str, threads: int, opened: contextlib.ExitStack) -> Run:
    if name == "tinygrad":
        return _tinygrad(case)
    if name == "library":
        return _library(case, threads)
    if name.partition(":")[0] in BROWSERS:
        return _browser(case, name, opened)
    return _ours(case, name, threads)


def _library(case: Case, threads: int) -> Run:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "lib"
        build(case.model, out, Options(case.given, targets=("native",)), lambda _: None, lambda _: None)
        model = webnn_compile.load(out, threads=threads)
    return lambda inputs: list(model.run(inputs).values())


def _browser(case: Case, name: str, opened: contextlib.ExitStack) -> Run:
    browser, _, backend = name.partition(":")
    device = opened.enter_context(browser_device(browser, backend, {}))
    model = device.load(webnn_compile.build_bundle(case.model, backend, case.given.shapes), deadline=DEADLINE)
    return lambda inputs: list(model.run(inputs, deadline=DEADLINE).values())


def _ours(case: Case, name: str, threads: int) -> Run:
    target, _, detail = name.partition(":")
    more: dict[str, Any] = {"threads": threads} if target in ("native", "c") else {}
    if target not in ("native", "c") and detail:
        more["precision"] = detail
    with _environment("CC", detail if target == "c" else ""):
        model = webnn_compile.compile(case.model, target, case.given.shapes, **more)
    return lambda inputs: list(model.run(inputs).values())


def _tinygrad(case: Case) -> Run:
    """tinygrad reads the environment when it is imported."""
    os.environ.setdefault("DEV", "CL")
    from tinygrad import Tensor, TinyJit
    from tinygrad.nn.onnx import OnnxRunner

    model = OnnxRunner(str(case.model))
    run = TinyJit(lambda **tensors: model(tensors))
    return lambda inputs: [t.numpy() for t in run(**{k: Tensor(a).realize() for k, a in inputs.items()}).values()]


@contextlib.contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    if value:
        os.environ[name] = value
    try:
        yield
    finally:
        if value and before is None:
            del os.environ[name]
        elif before is not None:
            os.environ[name] = before
