"""`load` and `run` end when a signal says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from devices import COUNT_CALLS, open_bundle, value
from harness import browser_name, open_page, outcome
from parallel_site import compile_parallel_site
from playwright.sync_api import Page
from server import ISOLATION, Site, serve
from tiny_artifact import SLOW

BACKENDS = ("wasm", "webgl", "webgpu")
ABORTED = {"name": "AbortError", "code": 20}


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
      const ends = performance.now() + 5000;
      while (alive.createBuffer && performance.now() < ends) await new Promise((resolve) => setTimeout(resolve, 5));
      return [name, alive.createBuffer]; // they are searched before, by a script that arrives when it does
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
