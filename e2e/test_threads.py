"""Threads: the same results bit for bit, a reason where there is one alone, and nothing left behind."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiled import PAGES, compile_site, shared_file
from faulty_artifact import faulty_artifact
from harness import browser_name, measure_heap, open_page, outcome, run_in_worker
from onnx_models import onnxruntime_results
from parallel_model import parallel_model
from parallel_site import INPUT, SIZE, X, compile_parallel_site, run
from playwright.sync_api import Page
from server import ISOLATION, Site, serve
from webnn_compile.bundle import write_bundle


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_parallel_site(tmp_path_factory.mktemp("threads"))


@pytest.fixture
def isolated(folder: Path) -> Iterator[Site]:
    with serve(folder, headers=ISOLATION) as site:
        yield site


def test_results_are_the_same_bit_for_bit(page: Page, isolated: Site) -> None:
    open_page(page, isolated)
    alone = run(page, {})
    want = onnxruntime_results(parallel_model(), {"x": X})["y"].ravel()
    assert np.abs(np.asarray(alone["y"], np.float32) - want).max() <= 1e-3 * max(1.0, float(np.abs(want).max()))
    for threads in (2, 3, 5):
        several = run(page, {"threads": threads}, times=30)
        assert several["y"] == alone["y"]
        assert (several["info"]["threads"], several["info"]["threadsReason"]) == (threads, "so many were asked for")
        assert several["info"]["memoryBytes"] == alone["info"]["memoryBytes"] + (threads - 1) * 65536


def test_auto_goes_by_the_processors(page: Page, isolated: Site) -> None:
    open_page(page, isolated)
    processors = page.evaluate("navigator.hardwareConcurrency")
    info = run(page, {"threads": "auto"})["info"]
    assert info["threads"] == min(8, max(min(2, processors), processors // 2))
    assert info["threadsReason"].startswith(f"the browser reports {processors} logical processor")


def test_the_pages_own_thread_does_not_wait(page: Page, isolated: Site) -> None:
    open_page(page, isolated)
    info = run(page, {"threads": 2, "worker": False})["info"]
    assert info["threads"] == 1
    assert info["threadsReason"] == "the page's own thread may not wait: leave `worker` at true"


@pytest.mark.parametrize("fault", ["missing", "html", "refuse"])
def test_a_worker_that_does_not_start(page: Page, isolated: Site, fault: Any) -> None:
    open_page(page, isolated)
    want = run(page, {"threads": 2})["y"]
    isolated.faults["thread-*.js"] = fault
    result = run(page, {"threads": 2})
    assert result["info"]["threads"] == 1
    assert result["info"]["threadsReason"].startswith("a worker did not start: ")
    assert result["y"] == want


def test_shared_memory_that_is_refused(page: Page, isolated: Site) -> None:
    open_page(page, isolated)
    result = page.evaluate(
        """(length) => new Promise((resolve, reject) => {
          const worker = new Worker('./no_shared_memory.js', { type: 'module' });
          worker.onerror = (event) => reject(new Error(event.message));
          worker.onmessage = ({ data }) => resolve({ ...data, y: [...data.y] });
          worker.postMessage({ length });
        })""",
        SIZE,
    )
    assert result["info"]["threads"] == 1
    assert re.fullmatch("no shared memory: .+: RangeError: refused by the test", result["info"]["threadsReason"])
    assert result["y"] == run(page, {})["y"]


@pytest.mark.parametrize("threads", [1, 3])
def test_inside_a_worker_of_the_page(page: Page, isolated: Site, threads: int) -> None:
    """The page's worker is one of the threads."""
    open_page(page, isolated)
    answer = run_in_worker(page, {"threads": threads}, {"x": X.ravel().tolist()})
    assert answer["outputs"]["y"] == run(page, {})["y"]
    info = answer["info"]
    assert (info["worker"], info["threads"], answer["workers"]) == (False, threads, threads - 1)


def test_concurrent_runs_and_models_do_not_mix(page: Page, isolated: Site) -> None:
    open_page(page, isolated)
    script = (
        INPUT
        + """
      const models = await Promise.all([{ threads: 2 }, { threads: 3 }, {}].map(bundle.load));
      const scaled = (factor) => ({ x: input.x.map((value) => value * factor) });
      const factors = [1, 0.5, 2, 0.25, 3];
      const results = await Promise.all(
        models.map((model) => Promise.all(factors.map(async (f) => (await model.run(scaled(f))).y))),
      );
      const equal = (a, b) => a.every((value, i) => Object.is(value, b[i]));
      return [
        results.every((own) => own.every((y, i) => equal(y, results[0][i]))),
        results[0].some((y, i) => i > 0 && equal(y, results[0][0])),
      ];
    """
    )
    assert outcome(page, script) == {"value": [True, False]}


@pytest.mark.fresh_page
def test_dispose_ends_every_worker(page: Page, isolated: Site) -> None:
    if browser_name(page) != "chromium":
        pytest.skip("only Chromium tells which workers there are")
    open_page(page, isolated)
    assert page.context.browser is not None
    session = page.context.browser.new_browser_cdp_session()

    def workers() -> int:
        targets = session.send("Target.getTargets", {"filter": [{"type": "worker"}]})["targetInfos"]
        return len(targets)

    before = workers()
    script = INPUT + "globalThis.model = await bundle.load({ threads: 3 }); await model.run(input);"
    assert outcome(page, script)["value"] is None
    assert workers() == before + 3
    assert outcome(page, "await model.dispose()")["value"] is None
    for _ in range(50):
        if workers() == before:
            break
        page.wait_for_timeout(100)
    assert workers() == before


def test_dispose_rejects_pending_runs(page: Page, isolated: Site) -> None:
    open_page(page, isolated)
    script = (
        INPUT
        + """
      const model = await bundle.load({ threads: 2 });
      const pending = [outcome(model.run(input)), outcome(model.run(input))];
      await model.dispose();
      return Promise.all([...pending, outcome(model.run(input))]);
    """
    )
    results = outcome(page, script)["value"]
    assert [(r["name"], r["code"]) for r in results] == [("RunError", "disposed")] * 3


@pytest.mark.fresh_page
def test_a_thousand_runs_leave_memory_flat(page: Page, isolated: Site) -> None:
    """The wasm memory cannot grow; the page's heap is measured where the browser tells it (Chromium)."""
    open_page(page, isolated)
    script = (
        INPUT
        + """
      globalThis.model = await bundle.load({ threads: 2 });
      globalThis.runs = async (n) => { for (let i = 0; i < n; i++) await model.run(input); };
      await runs(1000); // code that they compile stays
    """
    )
    assert outcome(page, script)["value"] is None
    heap = measure_heap(page)
    before = heap()
    assert outcome(page, "await runs(1000)")["value"] is None
    assert heap() - before < 200_000  # the inputs alone come to 49 MB


def test_a_thread_that_fails_makes_the_run_fail(page: Page, tmp_path: Path) -> None:
    shutil.copytree(PAGES, tmp_path / "site")
    write_bundle(faulty_artifact(), tmp_path / "site" / "bundle")
    with serve(tmp_path / "site", headers=ISOLATION) as site:
        open_page(page, site)
        script = """
          const model = await bundle.load({ threads: 3 });
          const x = (value) => ({ x: new Float32Array(64).fill(value) });
          const { y } = await model.run(x(21));
          const faults = [await outcome(model.run(x(-1))), await outcome(model.run(x(1)))];
          await model.dispose();
          return { y: [...new Set(y)], threads: model.info().threads, faults };
        """
        result = outcome(page, script)["value"]
    assert (result["y"], result["threads"]) == ([42], 3)
    for fault in result["faults"]:
        assert (fault["name"], fault["code"]) == ("RunError", "trap")
        assert fault["message"] == "the compiled model stopped: one of its threads failed; load it again"


@pytest.mark.parametrize("threads", [1, 2])
def test_warm_up(page: Page, isolated: Site, threads: int) -> None:
    open_page(page, isolated)
    assert run(page, {"warmup": True, "threads": threads})["y"] == run(page, {})["y"]


def test_resnet18(page: Page, tmp_path: Path) -> None:
    options = ("--targets", "wasm", "--shape", "input=1x3x224x224")
    folder = compile_site(shared_file("models/resnet18_imagenet.onnx"), tmp_path / "site", *options)
    with serve(folder, headers=ISOLATION) as site:
        open_page(page, site)
        script = """
          const x = Float32Array.from({ length: 3 * 224 * 224 }, (_, i) => Math.sin(i * i));
          const results = [];
          for (const threads of [1, 2, 3]) {
            const model = await bundle.load({ threads });
            const [name] = model.outputs.map((output) => output.name);
            if (model.info().threads !== threads) throw new Error(model.info().threadsReason);
            for (let i = 0; i < 3; i++) results.push((await model.run({ input: x }))[name]);
            await model.dispose();
          }
          return results.map((y) => y.every((value, i) => Object.is(value, results[0][i])));
        """
        assert outcome(page, script) == {"value": [True] * 9}


def test_memory_is_what_the_build_says(page: Page, isolated: Site, folder: Path) -> None:
    open_page(page, isolated)
    info = run(page, {})["info"]
    sizes = json.loads((folder / "report.json").read_text())["targets"]["wasm"]["bytes"]
    assert info["weightBytes"] == sizes["weights"]
    assert info["preparedBytes"] == sizes["prepared"]
    assert info["arenaBytes"] == sizes["arena"]
    assert abs(info["memoryBytes"] - sizes["memory"]) <= 0.05 * sizes["memory"]
