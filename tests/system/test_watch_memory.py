"""A limit on the memory of a compilation as a whole, whatever it does."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from hostile_models import DIMS, HOSTILE, chain
from onnx_models import model, node
from webnn_compile.errors import InputError
from webnn_compile.system import watch_limits
from webnn_compile.system.watch_limits import resident, within

need_proc = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")


@need_proc
def test_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_limits, "OWN", 2**20)
    with pytest.raises(
        InputError, match=r"--compile-memory 16 MiB: compiling took .* was at fill \(node 'big', Fill\)"
    ):
        fill(type("Node", (), {"name": "big", "op": "Fill"})())


def fill(node: object) -> None:
    with within(None, 16 * 2**20, lambda: "fill"):
        held = []
        for _ in range(4000):
            held.append(np.ones(2**17))
            time.sleep(0.001)


@need_proc
def test_memory_of_processes_that_it_starts() -> None:
    before = resident()
    script = "a = bytearray(64 << 20); print('held', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        grown = resident() - before
        other.kill()
    assert grown >= 64 << 20


@pytest.mark.parametrize(("platform", "unit"), [("darwin", 1), ("freebsd14", 1024)])
def test_memory_without_proc(platform: str, unit: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By getrusage, which counts the largest memory so far: in bytes on macOS, else in kilobytes."""
    resource = pytest.importorskip("resource")
    held = [100 * 2**20]
    monkeypatch.setattr(watch_limits, "_PROC", tmp_path / "none")
    monkeypatch.setattr(watch_limits.sys, "platform", platform)
    monkeypatch.setattr(resource, "getrusage", lambda _: SimpleNamespace(ru_maxrss=held[-1] // unit))
    assert resident() == 100 * 2**20
    with pytest.raises(InputError, match=r"--compile-memory 16 MiB: compiling took 529 MiB"):
        _grow(held)


def _grow(held: list[int]) -> None:
    """To the limit, then beyond it."""
    with within(None, 16 * 2**20, lambda: "work"):
        held.append(held[0] + 528 * 2**20)
        time.sleep(3 * watch_limits.INTERVAL)
        held.append(held[0] + 529 * 2**20)
        time.sleep(60)


HOG = {name: build for name, build in HOSTILE.items() if name not in ("chain", "folded")} | {
    "chain": lambda: chain(300)
}
"""Models that estimates of constants do not refuse."""

SCRIPT = """
import json, os, sys
from click.testing import CliRunner
from webnn_compile.cli.command import main
from webnn_compile.system import watch_limits

def compile(name, *options):
    ended = CliRunner().invoke(main, [name + ".onnx", "--out", name, "--no-cache", *options])
    return ended.exit_code, ended.output

assert compile("small")[0] == 0
watch_limits.OWN = 2**20
for name, options in json.loads(sys.argv[1]).items():
    if not os.fork():
        with open(name + ".json", "w") as file:
            json.dump(compile(name, "--compile-memory", "8MiB", *options), file)
        os._exit(0)
    os.wait()
"""
"""Compiles each model in a copy of a process in which all modules are loaded: what it grows by is the model's."""


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str]]:
    """By model the exit code and what was printed."""
    folder = tmp_path_factory.mktemp("hostile")
    small = model([node("MatMul", ["x", "w"], ["y"])], {"x": [4, 8]}, ["y"], {"w": np.ones((8, 8), np.float32)})
    onnx.save(small, folder / "small.onnx")
    for name, build in HOG.items():
        onnx.save(build(), folder / f"{name}.onnx")
    options = {name: ["--dim", "N={}..{}".format(*DIMS[name])] if name in DIMS else [] for name in HOG}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(options)], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return {name: json.loads((folder / f"{name}.json").read_text()) for name in HOG}


@need_proc
@pytest.mark.parametrize("name", HOG)
def test_a_model_that_takes_more(ended: dict[str, tuple[int, str]], name: str) -> None:
    code, printed = ended[name]
    assert code == 2, printed
    message = printed[printed.index("error: ") :]
    assert message.startswith("error: --compile-memory 8 MiB: compiling took "), printed
    assert "allow more, or give the model smaller or fixed sizes" in message
