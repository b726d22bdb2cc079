"""`load` and `run` end when a signal says so, and `load` when nothing arrives any more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from device_artifacts import tiny_device_artifact
from devices import COUNT_CALLS, open_bundle, value, write_site
from harness import BEFORE_WORKERS, browser_name, open_page, outcome
from parallel_site import INPUT, compile_parallel_site
from playwright.sync_api import Page
from server import ISOLATION, Fault, Site, serve
from tiny_artifact import SLOW, tiny_artifact

BACKENDS = ("wasm", "webgl", "webgpu")
ABORTED = {"name": "AbortError", "code": 20}
SOON = 1500
"""Milliseconds of silence that are enough to be reported, in tests where silence is all that there is."""


NEVER_ANSWERS = (
    BEFORE_WORKERS
    % """(stuck) => {
  const never = () => new Promise(() => {});
  const adapter = { limits: new Proxy({}, { get: () => 2 ** 30 }), features: new Set(), requestDevice: never };
  const requestAdapter = stuck === 'requestAdapter' ? never : async () => adapter;
  Object.defineProperty(navigator, 'gpu', { value: { requestAdapter } });
}"""
)
"""In workers, a WebGPU that never answers a call."""

COMPUTES = (
    BEFORE_WORKERS
    % """(ms) => {
  const { instantiate } = WebAssembly;
  WebAssembly.instantiate = (...given) => {
    for (const end = performance.now() + ms; performance.now() < end; );
    return instantiate(...given);
  };
}"""
)
"""In workers, so many milliseconds of work without a pause."""

TRICKLES = (
    BEFORE_WORKERS
    % """(ms) => {
  const { fetch } = globalThis;
  globalThis.fetch = async (...given) => {
    const response = await fetch(...given);
    const bytes = new Uint8Array(await response.arrayBuffer());
    let sent = 0;
    const body = new ReadableStream({
      async pull(controller) {
        await new Promise((resolve) => setTimeout(resolve, ms));
        const size = Math.ceil(bytes.length / 10);
        if (sent < bytes.length) controller.enqueue(bytes.slice(sent, (sent += size)));
        else controller.close();
      },
    });
    return new Response(body, { headers: response.headers });
  };
}"""
)
"""In workers, files that arrive in ten pieces, so many milliseconds apart."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    bundles = {"tiny": tiny_device_artifact(*BACKENDS), "cpu": tiny_artifact()}
    return write_site(tmp_path_factory.mktemp("abort"), bundles)


@pytest.fixture(params=["messages", "shared memory"])
def site(folder: Path, request: pytest.FixtureRequest) -> Iterator[Site]:
    """Page and worker talk by messages, or, where the page is cross-origin isolated, by shared memory, too."""
    with serve(folder, headers=ISOLATION if request.param == "shared memory" else None) as served:
        yield served


@pytest.fixture
def plain_site(folder: Path) -> Iterator[Site]:
    with serve(folder) as served:
        yield served


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_load_ends_with_its_signal(page: Page, plain_site: Site, backend: str, worker: bool) -> None:
    """While files are on their way; with an AbortError, or the reason that was given. A later load succeeds."""
    open_bundle(page, plain_site, "tiny", backend)
    plain_site.faults = {"weights-*.bin": "wait"}
    script = """
      const asked = [];
      const { fetch } = globalThis;
      globalThis.fetch = (url, options) => { asked.push(options.signal); return fetch(url, options); };
      const refused = [];
      for (const reason of [undefined, new RangeError('enough')]) {
        const controller = new AbortController();
        const arriving = new Promise((resolve) => {
          const loading = bundle.load({
            ...argument, signal: controller.signal, onProgress: ({ phase }) => phase === 'weights' && resolve(),
          });
          refused.push(outcome(loading));
        });
        await arriving;
        controller.abort(reason);
        await refused.at(-1);
      }
      globalThis.fetch = fetch;
      return { refused: await Promise.all(refused), given: asked.every((signal) => signal.aborted), n: asked.length };
    """
    found = value(page, script, {"backend": backend, "worker": worker})
    first, second = found["refused"]
    assert {name: first[name] for name in ABORTED} == ABORTED
    assert (second["name"], second["message"]) == ("RangeError", "enough")
    assert found["given"]
    assert (found["n"] > 0) == (not worker)
    plain_site.faults = {}
    plain_site.release.set()
    script = "const m = await bundle.load(argument); return [m.backend, (await head(m, 1)).length]"
    assert value(page, script, {"backend": backend, "worker": worker}) == [backend, 8]


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
def test_a_signal_aborted_beforehand_loads_nothing(page: Page, plain_site: Site, worker: bool) -> None:
    open_bundle(page, plain_site, "cpu")
    plain_site.requests.clear()
    refused = outcome(page, "return bundle.load({ worker: argument, signal: AbortSignal.abort() })", worker)
    assert {name: refused[name] for name in ABORTED} == ABORTED
    assert plain_site.requests == []


def test_what_an_aborted_load_made_is_freed(page: Page, plain_site: Site, backend: str) -> None:
    """Aborted while it compiles, which nothing can end: it is freed as soon as that is done."""
    open_bundle(page, plain_site, "tiny", backend)
    script = """
      const alive = count(gpuObjects);
      const controller = new AbortController();
      const options = { backend: argument, worker: false, signal: controller.signal };
      let began = 0;
      const onProgress = ({ phase }) => { if (phase === 'compile') { began++; controller.abort(); } };
      const refused = await outcome(bundle.load({ ...options, onProgress }));
      const late = performance.now() + 20000;
      const left = () => Object.values(alive).reduce((a, b) => a + b, 0);
      const open = () => contexts.filter((gl) => !gl.isContextLost()).length;
      while ((left() || open()) && performance.now() < late) await new Promise((resolve) => setTimeout(resolve, 20));
      await Promise.all(devices.map((device) => device.lost));
      return { refused: refused.name, began: began > 0, left: left(), open: open() };
    """
    assert value(page, script, backend) == {"refused": "AbortError", "began": True, "left": 0, "open": 0}


@pytest.mark.fresh_page
def test_an_aborted_load_ends_its_workers(page: Page, tmp_path: Path) -> None:
    if browser_name(page) != "chromium":
        pytest.skip("only Chromium's protocol lists workers")
    with serve(compile_parallel_site(tmp_path), headers=ISOLATION) as site:
        open_page(page, site)
        site.faults = {"weights-*.bin": "wait"}
        assert page.context.browser is not None
        session = page.context.browser.new_browser_cdp_session()

        def workers() -> int:
            return len(session.send("Target.getTargets", {"filter": [{"type": "worker"}]})["targetInfos"])

        before = workers()
        page.evaluate(
            """() => {
              globalThis.controller = new AbortController();
              globalThis.ended = outcome(bundle.load({ threads: 3, signal: controller.signal }));
            }"""
        )
        _until(page, lambda: workers() == before + 3)
        page.evaluate("controller.abort()")
        assert page.evaluate("ended")["name"] == "AbortError"
        _until(page, lambda: workers() == before)


def _until(page: Page, condition: Any) -> None:
    for _ in range(100):
        if condition():
            return
        page.wait_for_timeout(100)
    assert condition()


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
@pytest.mark.parametrize("fault", ["wait", "silent"])
@pytest.mark.parametrize(
    ("backend", "file"),
    [
        ("wasm", "weights-*.bin"),
        ("wasm", "relaxed-*.wasm"),
        ("webgl", "weights-*.bin"),
        ("webgl", "webgl-*.txt"),
        ("webgpu", "weights-*.bin"),
        ("webgpu", "webgpu-*.txt"),
    ],
)
def test_a_file_that_stalls(page: Page, plain_site: Site, backend: str, file: str, fault: Fault, worker: bool) -> None:
    open_bundle(page, plain_site, "tiny", backend)
    plain_site.faults = {file: fault}
    options = {"backend": backend, "worker": worker, "timeout": SOON}
    refused = outcome(page, "return bundle.load(argument)", options)
    assert (refused["name"], refused["code"]) == ("DownloadError", "stalled")
    assert refused["message"].startswith(f"nothing arrived of {plain_site.url}tiny/{file.split('*')[0]}")
    assert refused["message"].endswith(f" for {SOON / 1000} s: try again, or load with a longer {{ timeout }}")


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
@pytest.mark.parametrize("fault", ["wait", "silent"])
def test_steps_that_stall_fail_no_load(page: Page, plain_site: Site, fault: Fault, worker: bool) -> None:
    open_bundle(page, plain_site, "tiny")
    plain_site.faults = {"steps-*.txt": fault}
    script = "return (await bundle.load(argument)).backend"
    assert value(page, script, {"backend": "wasm", "worker": worker, "timeout": SOON}) == "wasm"


@pytest.mark.parametrize("fault", ["empty", "none", "silent", "html"])
def test_a_worker_that_starts_no_session(page: Page, plain_site: Site, fault: Fault) -> None:
    open_bundle(page, plain_site, "cpu")
    plain_site.faults = {"worker_*.js": fault}
    refused = outcome(page, "return bundle.load({ timeout: argument })", SOON)
    assert (refused["name"], refused["code"]) == ("WorkerError", "start")
    assert refused["message"].startswith("the worker did not start")
    assert "is its script beside model.js" in refused["message"]
    if fault in ("empty", "silent"):
        assert f"(no message within {SOON / 1000} s)" in refused["message"]


@pytest.mark.parametrize("stuck", ["requestAdapter", "requestDevice"])
def test_a_worker_in_which_the_gpu_never_answers(page: Page, plain_site: Site, stuck: str) -> None:
    open_bundle(page, plain_site, "tiny")
    page.evaluate(NEVER_ANSWERS, stuck)
    refused = outcome(page, "return bundle.load({ backend: 'webgpu', timeout: argument })", SOON)
    assert (refused["name"], refused["code"]) == ("WorkerError", "start")
    assert refused["message"] == (
        f"the worker started no session: nothing happened there for {SOON / 1000} s; "
        "load with a longer { timeout } or another { backend }"
    )


def test_a_worker_that_computes_is_not_silent(page: Page, plain_site: Site) -> None:
    open_bundle(page, plain_site, "tiny")
    page.evaluate(COMPUTES, 2 * SOON)
    script = "return (await bundle.load({ backend: 'wasm', timeout: argument })).backend"
    assert value(page, script, SOON) == "wasm"


def test_a_worker_whose_files_trickle_is_not_silent(page: Page, plain_site: Site) -> None:
    """All of them take longer together than the timeout, none stalls."""
    open_bundle(page, plain_site, "tiny")
    page.evaluate(TRICKLES, SOON / 4)
    script = "return (await bundle.load({ backend: 'wasm', timeout: argument })).backend"
    assert value(page, script, SOON) == "wasm"


def test_a_worker_that_is_aborted_before_it_starts(page: Page, plain_site: Site) -> None:
    open_bundle(page, plain_site, "cpu")
    plain_site.faults = {"worker_*.js": "silent"}
    script = """
      const controller = new AbortController();
      const ended = outcome(bundle.load({ signal: controller.signal, timeout: Infinity }));
      controller.abort();
      return ended;
    """
    assert value(page, script)["name"] == "AbortError"


@pytest.mark.parametrize("fault", ["empty", "silent"])
def test_a_thread_that_starts_nothing(page: Page, tmp_path_factory: pytest.TempPathFactory, fault: Fault) -> None:
    with serve(compile_parallel_site(tmp_path_factory.mktemp("threads")), headers=ISOLATION) as site:
        open_page(page, site)
        site.faults = {"thread-*.js": fault}
        script = (
            INPUT
            + """
          const model = await bundle.load({ threads: 2, timeout: argument });
          const { y } = await model.run(input);
          return [model.info().threads, model.info().threadsReason, y.length > 0];
        """
        )
        reason = f"a worker did not start: no message within {2 * SOON / 1000:g} s"
        assert value(page, script, 2 * SOON) == [1, reason, True]


RUNS = """
  const model = await bundle.load({ backend: argument.backend, worker: argument.worker });
  const slow = fill(1);
  slow[0] = argument.slow;
  const controller = new AbortController();
  const { signal } = controller;
"""


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_run_that_waits_never_starts(page: Page, site: Site, backend: str, worker: bool) -> None:
    """The second of three runs is aborted: the others are done, and the GPU or the worker was handed no third run."""
    open_bundle(page, site, "tiny", backend)
    page.evaluate(COUNT_CALLS)
    page.evaluate(
        """() => {
          const { postMessage } = Worker.prototype;
          Worker.prototype.postMessage = function (message, ...more) {
            if ('run' in message) calls.runs = (calls.runs ?? 0) + 1;
            return postMessage.call(this, message, ...more);
          };
        }"""
    )
    script = (
        RUNS
        + """
      await head(model, 7); // a worker that listens at shared memory is one that has run
      const own = () => calls.dispatchWorkgroups ?? calls.drawArrays ?? calls.runs ?? 0;
      const before = own();
      const first = model.run({ input: fill(1) });
      const second = outcome(model.run({ input: fill(2) }, { signal }));
      const third = model.run({ input: fill(3) });
      controller.abort();
      const { name } = await second;
      const outputs = (await Promise.all([first, third])).map(({ output }) => [...output].slice(0, 8));
      const handed = (own() - before) / (argument.worker ? 1 : 2);
      const want = [await head(model, 1), await head(model, 3)];
      return { name, most: handed <= 2, same: String(outputs) === String(want) };
    """
    )
    argument = {"backend": backend, "worker": worker, "slow": 1}
    assert value(page, script, argument) == {"name": "AbortError", "most": True, "same": True}


@pytest.mark.parametrize("bundle", ["cpu"])
def test_a_run_under_way_rejects_at_once(page: Page, site: Site, bundle: str) -> None:
    """The signal comes while the worker computes; the model runs on, the result of that run is dropped, not written
    where it was to go."""
    open_bundle(page, site, bundle)
    script = (
        RUNS
        + """
      await head(model, 7);
      let done = 0;
      const before = await head(model, 2);
      const output = fill(5);
      const long = model.run({ input: slow }, { signal, into: { output } });
      const behind = head(model, 2).then((result) => { done++; return result; });
      controller.abort(new Error('enough'));
      const refused = await outcome(long);
      const early = done === 0;
      output.fill(7);
      const same = String(await behind) === String(before);
      return { refused: refused.message, early, same, kept: output.every((n) => n === 7) };
    """
    )
    argument = {"backend": "wasm", "worker": True, "slow": SLOW}
    assert value(page, script, argument) == {"refused": "enough", "early": True, "same": True, "kept": True}


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_signal_aborted_beforehand_runs_nothing(page: Page, site: Site, backend: str, worker: bool) -> None:
    open_bundle(page, site, "tiny", backend)
    script = (
        RUNS
        + """
      controller.abort();
      const listened = [];
      const { addEventListener, removeEventListener } = AbortSignal.prototype;
      AbortSignal.prototype.addEventListener = function (...given) {
        if (this === fresh) listened.push('+');
        return addEventListener.apply(this, given);
      };
      AbortSignal.prototype.removeEventListener = function (...given) {
        if (this === fresh) listened.push('-');
        return removeEventListener.apply(this, given);
      };
      const fresh = new AbortController().signal;
      const input = fill(1);
      const results = [
        await outcome(model.run({ input }, { signal })),
        await outcome(model.profile({ input }, { signal })),
      ].map(({ name }) => name);
      await model.run({ input }, { signal: fresh });
      await outcome(model.profile({ input }, { signal: fresh })); // this module has no such entry
      return { results, listened: listened.join('') };
    """
    )
    argument = {"backend": backend, "worker": worker, "slow": 1}
    assert value(page, script, argument) == {"results": ["AbortError"] * 2, "listened": "+-+-"}


def test_buffers_of_an_aborted_run_are_destroyed(page: Page, plain_site: Site) -> None:
    open_bundle(page, plain_site, "tiny", "webgpu")
    script = """
      const model = await bundle.load({ backend: 'webgpu', worker: false });
      const alive = count([['GPUDevice', 'createBuffer', 'GPUBuffer', 'destroy']]);
      const controller = new AbortController();
      const running = outcome(model.run({ input: fill(1) }, { output: 'gpu-buffer', signal: controller.signal }));
      controller.abort();
      const { name } = await running;
      await head(model, 1);
      return [name, alive.createBuffer];
    """
    assert value(page, script) == ["AbortError", 0]


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_dispose_rejects_runs_that_were_called(page: Page, site: Site, backend: str, worker: bool) -> None:
    open_bundle(page, site, "tiny", backend)
    script = (
        RUNS
        + """
      const input = fill(1);
      const pending = [model.run({ input }), model.run({ input }, { signal }), model.profile({ input })].map(outcome);
      await model.dispose();
      return (await Promise.all(pending)).map(({ name, code }) => [name, code]);
    """
    )
    argument = {"backend": backend, "worker": worker, "slow": 1}
    assert value(page, script, argument) == [["RunError", "disposed"]] * 3
