"""Kernels are tuned in tabs of real browsers: interrupted once, resumed, and used by a build."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import onnx
import pytest
from onnx_models import model, node, random
from webnn_compile.driver.options import Options
from webnn_compile.records.record_file import read_records
from webnn_compile.records.tuning_record import TuningRecord
from webnn_compile.tune.problem import Problem

TUNE = Path(sys.executable).with_name("webnn-tune")
COMPILE = TUNE.with_name("webnn-compile")
TRIALS = 20
DEVICES = [("chromium", "wasm"), ("chromium", "webgpu"), ("chromium", "webgl"), ("firefox", "wasm")]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two kernels with large spaces."""
    nodes = [
        node("Conv", ["x", "k"], ["c"], "conv", strides=[2, 2], pads=[1, 1, 1, 1]),
        node("Relu", ["c"], ["r"], "relu"),
        node("Flatten", ["r"], ["f"], "flatten"),
        node("MatMul", ["f", "w"], ["y"], "dense"),
    ]
    weights = {"k": random((24, 16, 3, 3)) * 0.1, "w": random((24 * 49, 160)) * 0.1}
    made = tmp_path_factory.mktemp("model") / "net.onnx"
    onnx.save(model(nodes, {"x": [1, 16, 14, 14]}, ["y"], weights), made)
    return made


def tune(path: Path, target: str, browser: str, records: Path) -> subprocess.Popen[str]:
    command = [TUNE, path, "--target", target, "--device", f"browser:{browser}", "--trials", TRIALS]
    return subprocess.Popen(
        [str(c) for c in (*command, "--records", records)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,  # a group of its own, as at a terminal
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def trials_of(records: Path) -> list[TuningRecord]:
    if not records.exists() or not records.stat().st_size:
        return []
    return [r for r in read_records([records]).records if r.kind == "trial" and r.failure != "illegal"]


def test_kernels_of_sizes_that_vary(tmp_path: Path) -> None:
    path, records = tmp_path / "net.onnx", tmp_path / "r.jsonl"
    onnx.save(model([node("MatMul", ["x", "w"], ["y"])], {"x": ["batch", 24]}, ["y"], {"w": random((24, 40))}), path)
    command = [TUNE, path, "--dim", "batch=1..48", "--target", "wasm", "--device", "browser:chromium", "--trials", "4"]
    ran = subprocess.run([*command, "--records", records], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert [r.failure for r in trials_of(records)] == [None] * 4


@pytest.mark.parametrize(("browser", "target"), DEVICES)
def test_a_search_is_interrupted_resumed_and_used(path: Path, tmp_path: Path, browser: str, target: str) -> None:
    records = tmp_path / "r.jsonl"
    first = tune(path, target, browser, records)
    end = time.monotonic() + 120
    while len(trials_of(records)) < TRIALS // 4:
        assert first.poll() is None, first.communicate()[0]
        assert time.monotonic() < end
        time.sleep(0.1)
    os.killpg(first.pid, signal.SIGINT)  # as a terminal does
    printed, _ = first.communicate(timeout=60)
    assert first.returncode == 130, printed
    assert "all measurements so far are in the records" in printed
    before = trials_of(records)
    assert TRIALS // 4 <= len(before) < TRIALS

    second = tune(path, target, browser, records)
    printed, _ = second.communicate(timeout=300)
    assert second.returncode == 0, printed
    after = trials_of(records)
    assert after[: len(before)] == before
    assert len({(r.key, r.candidate) for r in after}) == len(after) <= TRIALS
    assert {r.target for r in after} == {target}
    assert len({r.key for r in after if r.ratio is not None}) >= 2
    made = re.search(r"(\d+) candidates for (\d+) kernels and layers", printed)
    assert made is not None, printed
    assert int(made[2]) >= 2
    # The space of WebGL is smaller: the search ends when it has tried all of it.
    assert int(made[1]) == TRIALS or (target == "webgl" and int(made[1]) == len(after))

    chosen = chosen_of(records, after, path, target)
    built = subprocess.run(
        [str(c) for c in (COMPILE, path, "--out", tmp_path / "out", "--targets", target, "--records", records)],
        capture_output=True,
        text=True,
        check=True,
    )
    report = " ".join(built.stdout.split())
    kernels = len({r.key for r in chosen if r.key.startswith("kernel")})
    assert re.search(rf"records {target}: {kernels} of \d+ kernels( and \d+ layers?)? by measurements on ", report), (
        report
    )
    assert f"by measurements on {chosen[0].device}; measured {chosen[0].whole:.2f} of the time by default" in report
    assert "not applied" not in report


def chosen_of(records: Path, trials: list[TuningRecord], path: Path, target: str) -> list[TuningRecord]:
    """The records that builds use. Where nothing was better than the default, the best candidate of each kernel is
    added as if it were: a build uses what a search has measured, whatever it found. Of kernels that the model has by
    default: others are those of layers that were not better in the end. Where a search measured no kernels but these,
    the best candidates of layers are added."""
    chosen = [r for r in read_records([records]).records if r.kind == "chosen"]
    if chosen:
        return chosen
    problem = Problem(path, target, Options())
    kernels = {t.key for t in problem.kernel_tasks(problem.lower()[0])}
    best: dict[str, TuningRecord] = {}
    for r in trials:
        if r.ratio is not None and (r.key in kernels or r.key.startswith("layer")):
            best[r.key] = min(best.get(r.key, r), r, key=lambda r: r.ratio or 0)
    used = [r for r in best.values() if r.key in kernels] or list(best.values())
    assert used
    added = [replace(r, kind="chosen", ms=(r.base or 0) / 2, whole=0.5) for r in used]
    with records.open("a") as file:
        file.writelines(r.to_line() for r in added)
    return added
