"""Threads: the same results bit for bit, a reason where there is one alone, and nothing left behind."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import wasmtime
from compiled import PAGES, compile_site, shared_file
from harness import open_page, outcome
from onnx_models import model, node, onnxruntime_results, random
from playwright.sync_api import Page
from server import ISOLATION, Site, serve
from webnn_compile.bundle import Artifact, KernelInfo, TensorSpec, WasmArtifact, write_bundle
from webnn_compile.dtypes import F32
from webnn_compile.wasm.binary import limits_at

SIZE = 3 * 64 * 64
X = (np.arange(SIZE) * 7919 % 2003 / 1001 - 1).astype(np.float32).reshape(1, 3, 64, 64)
FILL = "(_, i) => ((i * 7919) % 2003) / 1001 - 1"

SETUP = f"""
  const input = {{ x: Float32Array.from({{ length: {SIZE} }}, {FILL}) }};
"""
"""
  const load = (options) => bundle.load({ ...options });
  const load = (options) => bundle.load({ ...options });
"""


def network() -> onnx.ModelProto:
    """Convolutions, one of them by Winograd's algorithm, pooling, an activation: each large enough to be shared."""
    nodes = [
        node("Conv", ["x", "w1"], ["a"], pads=[1, 1, 1, 1]),
        node("Relu", ["a"], ["b"]),
        node("MaxPool", ["b"], ["c"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", ["c", "w2"], ["d"], pads=[1, 1, 1, 1]),
        node("Sigmoid", ["d"], ["e"]),
        node("GlobalAveragePool", ["e"], ["f"]),
        node("Flatten", ["f"], ["g"]),
        node("Gemm", ["g", "w3"], ["y"]),
    ]
    weights = {"w1": random((32, 3, 3, 3)), "w2": random((64, 32, 3, 3)), "w3": random((64, 1000))}
    return model(nodes, {"x": [1, 3, 64, 64]}, ["y"], weights)


FAULTY = """
(module
  (import "env" "parallel_for" (func $parallel_for (param i32 i32 i32)))
  (import "env" "memory" (memory 1 65536))
  (type $body (func (param i32 i32 i32)))
  (table 2 funcref)
  (elem (i32.const 1) $double)
  (global $stack (export "__stack_pointer") (mut i32) (i32.const 1000))
  (func $double (param $x i32) (param $i i32) (param $end i32)
    (loop $next
      (if (f32.lt (f32.load (i32.add (local.get $x) (i32.shl (local.get $i) (i32.const 2)))) (f32.const 0)) (then
        (if (i32.eq (global.get $stack) (i32.const 1000))
          (then (loop $wait (br_if $wait (i32.eqz (i32.atomic.load (i32.const 16))))))
          (else (i32.atomic.store (i32.const 16) (i32.const 1)) unreachable))))
      (f32.store offset=256 (i32.add (local.get $x) (i32.shl (local.get $i) (i32.const 2)))
        (f32.mul (f32.const 2) (f32.load (i32.add (local.get $x) (i32.shl (local.get $i) (i32.const 2))))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (local.get $end)))))
  (func (export "chunk") (param $body i32) (param $x i32) (param $begin i32) (param $end i32)
    (call_indirect (type $body) (local.get $x) (local.get $begin) (local.get $end) (local.get $body)))
  (func (export "run") (param $weights i32) (param $arena i32)
    (call $parallel_for (i32.const 1) (local.get $arena) (i32.const 64))))
"""


def faulty_artifact() -> Artifact:
    """y = 2 x; where x is negative, a thread of the pool stops, and the first thread waits until one has."""
    module = wasmtime.wat2wasm(FAULTY)
    at = limits_at(module)
    part = WasmArtifact({"plain": module}, 1000, 512, (KernelInfo("double", (), ()),), shared_at={"plain": at})
    tensors = (TensorSpec("x", F32, (64,), 0),), (TensorSpec("y", F32, (64,), 256),)
    return Artifact("faulty", *tensors, b"", (part,))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("threads")
    onnx.save(network(), made / "network.onnx")
    return compile_site(
        made / "network.onnx",
        made / "site",
        "--targets",
        "wasm",
        "--coop-coep",
        "--report",
        str(made / "site" / "report.json"),
    )


@pytest.fixture
def isolated(folder: Path) -> Iterator[Site]:
    with serve(folder, headers=ISOLATION) as site:
        yield site


@pytest.fixture
def plain(folder: Path) -> Iterator[Site]:
    with serve(folder) as site:
        yield site


def run(page: Page, options: dict[str, Any], times: int = 1) -> dict[str, Any]:
    """{y, info} of a model loaded with the options, after so many runs with one result."""
    script = (
        SETUP
        + """
      const model = await bundle.load(argument.options);
      const { y } = await model.run(input);
      for (let i = 1; i < argument.times; i++) {
        const again = (await model.run(input)).y;
        if (!again.every((value, at) => Object.is(value, y[at]))) throw new Error(`run ${i} differs`);
      }
      const info = model.info();
      await model.dispose();
      return { y: [...y], info };
    """
    )
    result = outcome(page, script, {"options": options, "times": times})
    assert "value" in result, result
    value: dict[str, Any] = result["value"]
    return value


def test_results_are_the_same_bit_for_bit(page: Page, isolated: Site) -> None:
    open_page(page, isolated)
    alone = run(page, {})
    want = onnxruntime_results(network(), {"x": X})["y"].ravel()
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


def test_a_page_that_is_not_isolated_runs_on_one_thread(page: Page, plain: Site) -> None:
    open_page(page, plain)
    result = run(page, {"threads": 2})
    assert result["info"]["threads"] == 1
    assert result["info"]["threadsReason"] == (
        "the page is not cross-origin isolated: serve it with the headers Cross-Origin-Opener-Policy: same-origin and "
        "Cross-Origin-Embedder-Policy: require-corp"
    )
    assert result["y"] == run(page, {})["y"]
    assert not any("thread-" in path for path in plain.requests)


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


def test_concurrent_runs_and_models_do_not_mix(page: Page, isolated: Site) -> None:
    open_page(page, isolated)
    script = (
        SETUP
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


def test_dispose_ends_every_worker(page: Page, isolated: Site) -> None:
    if page.context.browser is None or page.context.browser.browser_type.name != "chromium":
        pytest.skip("only Chromium tells which workers there are")
    open_page(page, isolated)
    session = page.context.browser.new_browser_cdp_session()

    def workers() -> int:
        targets = session.send("Target.getTargets", {"filter": [{"type": "worker"}]})["targetInfos"]
        return len(targets)

    before = workers()
    script = SETUP + "globalThis.model = await bundle.load({ threads: 3 }); await model.run(input);"
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
        SETUP
        + """
      const model = await bundle.load({ threads: 2 });
      const pending = [outcome(model.run(input)), outcome(model.run(input))];
      await model.dispose();
      return Promise.all([...pending, outcome(model.run(input))]);
    """
    )
    results = outcome(page, script)["value"]
    assert [(r["name"], r["code"]) for r in results] == [("RunError", "disposed")] * 3


def test_a_thousand_runs_leave_memory_flat(page: Page, isolated: Site) -> None:
    """The wasm memory cannot grow; the page's heap is measured where the browser tells it (Chromium)."""
    open_page(page, isolated)
    script = (
        SETUP
        + """
      globalThis.model = await bundle.load({ threads: 2 });
      globalThis.runs = async (n) => { for (let i = 0; i < n; i++) await model.run(input); };
      await runs(100);
    """
    )
    assert outcome(page, script)["value"] is None
    chromium = page.context.browser is not None and page.context.browser.browser_type.name == "chromium"
    session = page.context.new_cdp_session(page) if chromium else None

    def heap() -> int:
        if session is None:
            return 0
        session.send("HeapProfiler.collectGarbage")
        usage = session.send("Runtime.getHeapUsage")
        return int(usage["usedSize"]) + int(usage.get("backingStorageSize", 0))

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


# What gives a page its threads


def nginx_headers(text: str) -> dict[str, str]:
    return dict(re.findall(r"^add_header (\S+) (\S+) always;$", text, re.MULTILINE))


def netlify_headers(text: str) -> dict[str, str]:
    assert text.startswith("/*\n")
    return dict(re.findall(r"^  (\S+): (\S+)$", text, re.MULTILINE))


@pytest.mark.parametrize(("name", "read"), [("_headers", netlify_headers), ("nginx.conf", nginx_headers)])
def test_headers_of_the_bundle_isolate_a_page(page: Page, folder: Path, name: str, read: Any) -> None:
    with serve(folder, headers=read((folder / "bundle" / name).read_text())) as site:
        open_page(page, site)
        assert page.evaluate("crossOriginIsolated") is True
        assert run(page, {"threads": 2})["info"]["threads"] == 2


def test_service_worker_isolates_a_page(page: Page, folder: Path) -> None:
    (folder / "isolate.js").write_bytes((folder / "bundle" / "isolate.js").read_bytes())
    with serve(folder) as site:
        page.goto(site.url + "isolated.html")
        page.wait_for_function("() => crossOriginIsolated && document.documentElement.dataset.ready === ''")
        assert run(page, {"threads": 2})["info"]["threads"] == 2
        page.reload()
        page.wait_for_selector("html[data-ready]", state="attached")
        assert page.evaluate("crossOriginIsolated") is True


def test_own_page_isolates_itself(page: Page, folder: Path) -> None:
    with serve(folder / "bundle") as site:
        page.goto(site.url)
        page.wait_for_function("() => crossOriginIsolated")
        page.get_by_text("Ready, on wasm.").wait_for()
