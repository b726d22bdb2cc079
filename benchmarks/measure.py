"""One measurement, in a process of its own: an engine, a case, and a fresh browser where it needs one."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .busy import others, snapshot
from .cases import Array, Case, find_case
from .engines import ENGINES, Engine
from .folders import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Page


@dataclass(frozen=True, slots=True)
class Job:
    """`browser` is None for native engines. At most `seconds` are spent on the `runs`, but three are made. All comes
    over a line of so many Mbit/s, 0 for loopback at its own speed."""

    case: str
    shapes: Mapping[str, tuple[int, ...]]
    engine: str
    browser: str | None
    warmup: int = 3
    runs: int = 20
    seconds: float = 20
    line: float = 0


def measure(job: Job, timeout: float) -> dict[str, Any]:
    """The figures of page/measure.js with "others", the cores that other processes used; or "failed", why not."""
    return in_process("measure", asdict(job), timeout)


def in_process(command: str, fields: Mapping[str, Any], timeout: float) -> dict[str, Any]:
    """The output of `python -m benchmarks COMMAND JSON`, or "failed" with the reason: neither a crash nor a hang ends a
    run."""
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks", command, json.dumps(fields)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            return {"failed": f"no answer within {timeout:.0f} s"}
        finally:
            # Browsers that are left behind, too.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if process.returncode:
            errors.seek(0)
            return {"failed": reason(errors.read())}
    result: dict[str, Any] = json.loads(output)
    return result


def reason(errors: str) -> str:
    """The line of a traceback, Python's or a page's, that says what went wrong."""
    lines = [line for line in errors.splitlines() if line.strip() and not line.startswith((" ", "\t"))]
    return (lines or ["no message"])[-1][:300]


def measure_here(job: Job) -> dict[str, Any]:
    """Measures a job in this process; raises where it fails."""
    engine = ENGINES[job.engine]
    case = find_case(job.case, job.shapes)
    if engine.page is None:
        return _timed(_native(engine, case), case, job)
    with open_page(job.browser or "chromium", job.line) as (page, site, version):
        folder = "/" + case.folder.relative_to(ROOT).as_posix()
        request = {"adapter": engine.page, "options": dict(engine.options), "folder": folder}
        if engine.page == "./onnxruntime.js":
            request["options"]["model"] = f"{folder}/peers.onnx"
        request |= {"warmup": job.warmup, "runs": job.runs, "seconds": job.seconds}
        before = snapshot()
        result: dict[str, Any] = page.evaluate("job => window.benchmarks.measure(job)", request)
        received = [(size, at) for size, at in site.sent.values() if at * 1e3 >= result["began"]]
        result["bytes"] = sum(size for size, _ in received)
        result["received_ms"] = max(at for _, at in received) * 1e3 - result["began"]
        return result | {"others": others(before, snapshot()), "browser": version}


@contextlib.contextmanager
def open_page(browser: str, line: float = 0) -> Any:
    """The page of benchmarks/page in a fresh browser, cross-origin isolated, its site, and the browser's version. Over
    a line of so many Mbit/s files come as hosts send them: compressed where `compress_files` has done so."""
    sys.path.insert(0, str(ROOT / "e2e"))
    from playwright.sync_api import sync_playwright
    from server import ISOLATION, Line, serve
    from webnn_compile.rpc.browsers import launch

    with (
        serve(ROOT, headers=ISOLATION) as site,
        sync_playwright() as playwright,
        launch(playwright, browser) as opened,
    ):
        if line:
            site.line, site.compressed = Line(line * 1e6), True
        page: Page = opened.new_page()
        page.goto(f"{site.url}benchmarks/page/index.html")
        page.wait_for_function("() => window.benchmarks")
        yield page, site, opened.version


def _native(engine: Engine, case: Case) -> Callable[[], tuple[Callable[[], Mapping[str, Array]], str]]:
    """Starts the engine; returns a function that runs it once, and its version."""
    inputs = case.inputs()

    def onnxruntime() -> tuple[Callable[[], Mapping[str, Array]], str]:
        import onnxruntime as ort

        options = ort.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = engine.threads, 1
        options.log_severity_level = 3
        session = ort.InferenceSession(str(case.model), options, providers=["CPUExecutionProvider"])
        names = [o.name for o in session.get_outputs()]
        everything = case.all_inputs()
        return lambda: dict(zip(names, session.run(names, everything), strict=True)), ort.__version__

    def ours() -> tuple[Callable[[], Mapping[str, Array]], str]:
        import webnn_compile

        from .native import compile_natively

        fast_math, fixed = (not engine.name.endswith("-direct"), engine.name.endswith("-fixed"))
        model = compile_natively(case, engine.threads, fast_math=fast_math, fixed=fixed)
        return lambda: model.run(inputs), webnn_compile.__version__

    return ours if engine.ours else onnxruntime


def _timed(start: Callable[[], tuple[Callable[[], Mapping[str, Array]], str]], case: Case, job: Job) -> dict[str, Any]:
    begin = time.perf_counter()
    run, version = start()
    started = time.perf_counter()
    results = run()
    first = time.perf_counter()
    error = largest_error(case.outputs(), results)
    for _ in range(job.warmup):
        run()
    before = snapshot()
    end = time.perf_counter() + job.seconds
    times: list[float] = []
    while len(times) < job.runs and (len(times) < 3 or time.perf_counter() < end):
        at = time.perf_counter()
        run()
        times.append((time.perf_counter() - at) * 1e3)
    return {
        "start_ms": (started - begin) * 1e3,
        "first_ms": (first - started) * 1e3,
        "times_ms": times,
        "error": error,
        "facts": {"version": version},
        "others": others(before, snapshot()),
    }


def largest_error(expected: Mapping[str, Array], results: Mapping[str, Array]) -> float:
    """Over all outputs, relative to max(1, largest magnitude of that output)."""
    worst = 0.0
    for name, want in expected.items():
        difference = np.abs(np.asarray(results[name], np.float64) - want)
        worst = max(worst, float(difference.max(initial=0)) / max(1.0, float(np.abs(want).max(initial=0))))
    return worst
