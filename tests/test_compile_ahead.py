"""Kernels compiled in several processes: the same bytes, the same errors, nothing left where they are interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from cli.command import heed_interrupts
from onnx_models import model, node
from webnn_compile.cpu.compile_for_cpu import compile_for_cpu
from webnn_compile.driver.build import build
from webnn_compile.driver.compile_ahead import FEWEST, compile_ahead
from webnn_compile.driver.options import Options
from webnn_compile.errors import UnsupportedError
from webnn_compile.frontends.onnx import import_model
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.system.cache import FOLDER_VARIABLE, Cache
from webnn_compile.target import WASM_PLAIN, WASM_RELAXED

BOTH = (WASM_RELAXED, WASM_PLAIN)


def many(folder: Path, count: int) -> Path:
    """So many small kernels of which no two are alike."""
    nodes = [node("Relu", [f"x{n}"], [f"y{n}"], f"relu{n}") for n in range(count)]
    file = folder / "many.onnx"
    onnx.save(model(nodes, {f"x{n}": [n + 1] for n in range(count)}, [f"y{n}" for n in range(count)]), file)
    return file


def written(file: Path, out: Path, processes: int) -> dict[str, bytes]:
    build(file, out, Options(cache=False, processes=processes), lambda _: None, lambda _: None)
    return {p.name: p.read_bytes() for p in out.iterdir() if p.is_file()}


def test_the_same_bytes(tmp_path: Path) -> None:
    file = many(tmp_path, FEWEST // 2)
    assert written(file, tmp_path / "one", 1) == written(file, tmp_path / "two", 2)


def test_everything_is_then_known(tmp_path: Path) -> None:
    lowered = lower_model(import_model(many(tmp_path, FEWEST // 2)))
    known = Cache(None)
    assert compile_ahead(lowered, BOTH, known, 2, processes=2) >= FEWEST
    missed = known.misses
    for target in BOTH:
        compile_for_cpu(lowered, target, cache=known)
    assert (known.misses, known.hits) == (missed, 0)
    assert compile_ahead(lowered, BOTH, known, 2, processes=2) == 0


@pytest.mark.parametrize(("length", "processes"), [(FEWEST // 2, 1), (FEWEST // 2 - 2, 2)])
def test_not_for_one_process_or_few_kernels(
    length: int, processes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webnn_compile.driver.compile_ahead.WorkerPool", lambda *_, **__: pytest.fail("started"))
    assert compile_ahead(lower_model(import_model(many(tmp_path, length))), BOTH, Cache(None), 2, processes) == 0


def test_where_processes_cannot_be_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = many(tmp_path, FEWEST // 2)
    expected = written(file, tmp_path / "one", 1)

    def refuse(*_: object, **__: object) -> None:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr("concurrent.futures.process.ProcessPoolExecutor.submit", refuse)
    assert written(file, tmp_path / "two", 2) == expected


def test_a_kernel_that_cannot_be_compiled_is_the_builds_to_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The processes know nothing of this failure, as those of another version would not."""
    file = many(tmp_path, FEWEST // 2)

    def refuse(*_: object) -> None:
        raise UnsupportedError("exp on float64 (node relu0)")

    monkeypatch.setattr("webnn_compile.driver.compile_ahead._compile", refuse)
    written(file, tmp_path / "one", 2)
    monkeypatch.setattr("webnn_compile.cpu.compile_for_cpu.schedule_cpu", refuse)
    with pytest.raises(UnsupportedError, match="node relu0"):
        written(file, tmp_path / "two", 2)


def start(file: Path, tmp_path: Path) -> subprocess.Popen[str]:
    """A build, in a process group of its own, that has begun to compile in several processes."""
    command = [sys.executable, "-m", "webnn_compile", str(file), "--out", str(tmp_path / "out"), "--no-cache"]
    environment = {**os.environ, FOLDER_VARIABLE: str(tmp_path / "cache")}
    running = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
        env=environment,
        preexec_fn=heed_interrupts,
    )
    assert running.stderr is not None
    for line in running.stderr:
        if "in several processes" in line:
            return running
    raise AssertionError("it never came to that")


def alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def ends(group: int) -> bool:
    for _ in range(300):
        if not alive(group):
            return True
        time.sleep(0.1)
    return False


several = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2, reason="Linux with two cores"
)


@several
@pytest.mark.parametrize(
    ("end", "number", "code"),
    [(os.killpg, signal.SIGINT, 130), (os.kill, signal.SIGTERM, 143)],
    ids=["by Ctrl-C", "by SIGTERM to the parent alone"],
)
def test_interrupted(end: Callable[[int, int], None], number: int, code: int, tmp_path: Path) -> None:
    running = start(many(tmp_path, 400), tmp_path)
    end(running.pid, number)
    _, errors = running.communicate(timeout=60)
    assert running.returncode == code, errors
    assert not (tmp_path / "out").exists()
    assert errors.splitlines()[-1] == "interrupted; no bundle was written"
    assert "Traceback" not in errors
    assert ends(running.pid)


@several
def test_killed(tmp_path: Path) -> None:
    running = start(many(tmp_path, 400), tmp_path)
    time.sleep(1)
    running.kill()
    running.communicate(timeout=60)
    assert ends(running.pid)
