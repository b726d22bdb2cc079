"""Faults of tabs during a search: kernels that do not end, tabs that are reloaded or closed."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
import pytest
from click.testing import CliRunner, Result
from harness import join
from onnx_models import model, node, random
from playwright.sync_api import Browser, Page
from serve_by_command import serve_by_command
from shared_pages import SharedPages, need_browser
from webnn_compile.bundle import Manifest
from webnn_compile.cli.remote_device import RemoteDevice, browser_device
from webnn_compile.cli.tune_command import main
from webnn_compile.driver.build import build_manifest
from webnn_compile.driver.options import Options
from webnn_compile.records.record_file import read_records
from webnn_compile.records.tuning_record import TuningRecord
from webnn_compile.rpc.client import connect
from webnn_compile.rpc.start_broker import Address, start_broker
from webnn_compile.tune.device_error import DeviceError, DeviceGone
from webnn_compile.tune.problem import Problem
from webnn_compile.tune.serial_executor import SerialExecutor
from webnn_compile.tune.status import BATCH, Settings, Status
from webnn_compile.tune.tuner import tune

N = 1024
X = {name: random(shape) for name, shape in (("x", (N, 1, 1)), ("z", (1, N, 1)), ("w", (1, 1, N)))}
TRIALS = 12


def trials_of(records: Path) -> list[TuningRecord]:
    """In the order of their lines."""
    found = read_records([records]).records if records.exists() and records.stat().st_size else ()
    return [r for r in found if r.kind == "trial"]


def compiled(path: Path, proto: onnx.ModelProto, target: str) -> Manifest:
    onnx.save(proto, path)
    return build_manifest(path, Options(targets=(target,)), lambda _: None)


def endless() -> onnx.ModelProto:
    """A kernel of 2^34 sines: minutes on one core, longer than any deadline of this test."""
    sines = [node("Sin", [f"s{i}"], [f"s{i + 1}"]) for i in range(16)]
    products = [node("Mul", ["x", "z"], ["a"]), node("Mul", ["a", "w"], ["s0"])]
    total = node("ReduceSum", ["s16", "axes"], ["y"], keepdims=0)
    shapes = {name: list(x.shape) for name, x in X.items()}
    return model([*products, *sines, total], shapes, ["y"], {"axes": np.array([1, 2], np.int64)})


def short() -> onnx.ModelProto:
    return model([node("Relu", ["x"], ["y"])], {"x": [2, 3]}, ["y"])


@pytest.mark.parametrize(
    ("browser", "target"), [("chromium", "wasm"), ("chromium", "webgpu"), ("chromium", "webgl"), ("firefox", "wasm")]
)
def test_a_browser_is_restarted_after_a_kernel_that_does_not_end(tmp_path: Path, browser: str, target: str) -> None:
    # Playwright runs once in a thread, and other tests of this one may have started it.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(run_endless, tmp_path, browser, target).result()


def run_endless(tmp_path: Path, browser: str, target: str) -> None:
    with browser_device(browser, target, {}) as device:
        name = device.name
        stuck = device.load(compiled(tmp_path / "endless.onnx", endless(), target), deadline=60)
        with pytest.raises(DeviceError) as caught:
            stuck.run(X, deadline=2)
        assert caught.value.kind in ("timeout", "lost")
        again = device.load(compiled(tmp_path / "short.onnx", short(), target), deadline=60)
        x = random((2, 3))
        np.testing.assert_array_equal(again.run({"x": x}, deadline=60)["y"], x.clip(0))
        assert device.name == name


@pytest.fixture
def address() -> Iterator[Address]:
    with start_broker() as made:
        yield made


@pytest.fixture
def tab(browser: Browser, address: Address) -> Iterator[Page]:
    with contextlib.closing(browser.new_page()) as page:
        page.goto(address.page)
        page.wait_for_selector("body[data-state=joined]")
        yield page


def search(path: Path, address: Address, tab: Page, records: list[TuningRecord], at: int, fault: str) -> None:
    """A search on the tab, to which the `fault` happens after so many trials."""
    nodes = [
        node("Conv", ["x", "k"], ["c"], "conv", pads=[1, 1, 1, 1]),
        node("Relu", ["c"], ["r"], "relu"),
        node("MaxPool", ["r"], ["y"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
    ]
    onnx.save(model(nodes, {"x": [1, 8, 14, 14]}, ["y"], {"k": random((16, 8, 3, 3))}), path)
    problem = Problem(path, "wasm", Options())
    with connect(address.page) as session, contextlib.closing(RemoteDevice(session, "any", "wasm", {}, 30)) as device:
        problem.use_variants(device.variants[:1])

        def observe(status: Status) -> None:
            if len(records) >= at and not tab.is_closed() and not tab.evaluate("name"):
                tab.evaluate("name = 'faulted'")
                if fault == "reload":
                    tab.reload()
                else:
                    tab.close()

        settings = Settings(trials=TRIALS, layers=False, batch=4)
        tune(problem, device, SerialExecutor(), settings, records.append, observe=observe)


def test_a_tab_is_reloaded_during_a_search(tmp_path: Path, address: Address, tab: Page) -> None:
    """It joins again, and the search goes on: each trial is recorded once."""
    records: list[TuningRecord] = []
    search(tmp_path / "net.onnx", address, tab, records, at=4, fault="reload")
    assert tab.evaluate("name") == "faulted"
    trials = [r for r in records if r.kind == "trial" and r.failure != "illegal"]
    assert len({(r.key, r.candidate) for r in trials}) == len(trials) == TRIALS
    assert sum(r.ratio is not None for r in trials) >= TRIALS - 4


def test_a_tab_is_closed_during_a_search(
    tmp_path: Path, address: Address, tab: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Earlier measurements are recorded, and no candidate counts as failed."""
    monkeypatch.setattr("webnn_compile.cli.remote_device.REJOIN", 1.0)
    records: list[TuningRecord] = []
    with pytest.raises(DeviceGone, match="has not joined again within 1 s"):
        search(tmp_path / "net.onnx", address, tab, records, at=4, fault="close")
    assert len(records) >= 4
    assert all(r.failure in (None, "illegal") for r in records)


def test_the_broker_is_killed_during_a_search(
    tmp_path: Path, shared_pages: SharedPages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once for good: the search ends with a message, and the same command goes on from the records at a new broker of
    that address, where the tab joins by itself. Once more, and it is started again: the search waits for it. No record
    is lost, no candidate is measured twice or counts as failed."""
    page = shared_pages.page(need_browser(shared_pages, "chromium"))
    path, records = tmp_path / "net.onnx", tmp_path / "r.jsonl"
    onnx.save(model([node("MatMul", ["x", "w"], ["y"])], {"x": [4, 64]}, ["y"], {"w": random((64, 64))}), path)
    trials = 3 * BATCH

    def tune_by_command(address: Address) -> Result:
        device = ("--target", "wasm", "--device", "any", "--broker", address.page)
        limits = ("--trials", str(trials), "--no-layers", "--processes", "0")
        return CliRunner().invoke(main, [str(path), *device, *limits, "--records", str(records)])

    def kill(process: subprocess.Popen[str], least: int) -> None:
        end = time.monotonic() + 60
        while len(trials_of(records)) < least:
            assert time.monotonic() < end
            time.sleep(0.02)
        process.kill()
        process.wait()

    with serve_by_command("--port", "0") as served, ThreadPoolExecutor(1) as thread:
        join(page, served.address)
        killed = thread.submit(kill, served.process, 1)
        monkeypatch.setattr("webnn_compile.cli.remote_device.REJOIN", 1.0)
        first = tune_by_command(served.address)
        monkeypatch.undo()
        killed.result()
    assert first.exit_code == 2, first.output
    assert "Traceback" not in first.output
    printed = " ".join(first.output.split())
    assert "the device was lost: " in printed
    assert "all measurements so far are in the records" in printed
    before = trials_of(records)
    assert 0 < len(before) < trials
    page.wait_for_selector("body[data-state=waiting]")

    token, port = served.address.token, served.address.url.rpartition(":")[2]
    with (
        contextlib.ExitStack() as opened,
        serve_by_command("--port", port, "--token", token) as served,
        ThreadPoolExecutor(1) as thread,
    ):

        def restart() -> None:
            kill(served.process, len(before) + 1)
            opened.enter_context(start_broker(port=int(port), token=token))

        restarted = thread.submit(restart)
        second = tune_by_command(served.address)
        restarted.result()
    assert second.exit_code == 0, second.output
    assert f"{trials} candidates for 1 kernel" in second.output
    after = trials_of(records)
    assert after[: len(before)] == before
    assert len({(r.key, r.candidate) for r in after}) == len(after) >= trials
    assert all(r.failure in (None, "illegal") for r in after)
    page.goto("about:blank")
