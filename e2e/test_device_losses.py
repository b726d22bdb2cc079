"""The GPU is taken away: the run that it interrupts is done once more. And nothing is left behind: counted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from device_artifacts import tiny_device_artifact
from devices import expected, open_bundle, pretend, value, write_site
from harness import measure_heap
from playwright.sync_api import Page
from server import Site, serve


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    bundles = {"tiny": tiny_device_artifact("webgpu", "webgl", "wasm")}
    with serve(write_site(tmp_path_factory.mktemp("losses"), bundles)) as served:
        yield served


@pytest.mark.parametrize("when", ["before", "during"])
def test_an_interrupted_run_is_done_once_more(page: Page, site: Site, backend: str, when: str) -> None:
    open_bundle(page, site, "tiny", backend)
    script = """
      const model = await bundle.load({ backend: argument.backend, worker: false });
      const results = [];
      for (let i = 0; i < 3; i++) {
        if (argument.when === 'before') lose(model);
        const running = head(model, i);
        if (argument.when === 'during') lose(model);
        results.push(await running, await head(model, i + 10));
      }
      return { results, backend: model.backend };
    """
    found = value(page, script, {"backend": backend, "when": when})
    assert found["backend"] == backend
    assert found["results"] == [expected(v) for i in range(3) for v in (i, i + 10)]


def test_runs_that_wait_come_through_a_loss(page: Page, site: Site, backend: str) -> None:
    open_bundle(page, site, "tiny", backend)
    script = """
      const model = await bundle.load({ backend: argument, worker: false });
      const running = [1, 2, 3].map((i) => head(model, i));
      lose(model);
      return Promise.all(running);
    """
    assert value(page, script, backend) == [expected(i) for i in (1, 2, 3)]


def test_a_second_loss_rejects_and_the_next_run_tries_again(page: Page, site: Site, backend: str) -> None:
    open_bundle(page, site, "tiny", backend)
    script = """
      const model = await bundle.load({ backend: argument, worker: false });
      // Whatever is submitted or drawn next loses the device.
      const { submit } = GPUQueue?.prototype ?? {};
      const { drawArrays } = WebGL2RenderingContext.prototype;
      let losses = 0;
      const strike = () => { losses++; lose(model); };
      if (submit) GPUQueue.prototype.submit = function (...given) { submit.apply(this, given); strike(); };
      WebGL2RenderingContext.prototype.drawArrays = function (...given) { drawArrays.apply(this, given); strike(); };
      const refused = await outcome(model.run({ input: fill(1) }));
      if (submit) GPUQueue.prototype.submit = submit;
      WebGL2RenderingContext.prototype.drawArrays = drawArrays;
      return { refused, losses, after: await head(model, 2) };
    """
    found = value(page, script, backend)
    assert (found["refused"]["name"], found["refused"]["code"]) == ("DeviceLostError", "lost")
    assert "lost" in found["refused"]["message"]
    assert found["losses"] >= 2
    assert found["after"] == expected(2)


def test_a_device_that_cannot_be_had_again(page: Page, site: Site, backend: str) -> None:
    open_bundle(page, site, "tiny", backend)
    script = """
      const model = await bundle.load({ backend: argument, worker: false });
      const { requestAdapter } = GPU?.prototype ?? {};
      const { getContext } = OffscreenCanvas.prototype;
      if (requestAdapter) GPU.prototype.requestAdapter = async () => null;
      OffscreenCanvas.prototype.getContext = () => null;
      lose(model);
      const refused = [await outcome(head(model, 1)), await outcome(head(model, 1))];
      if (requestAdapter) GPU.prototype.requestAdapter = requestAdapter;
      OffscreenCanvas.prototype.getContext = getContext;
      return { refused, after: await head(model, 2) };
    """
    found = value(page, script, backend)
    for refused in found["refused"]:
        assert refused["name"] == "DeviceLostError"
        assert refused["message"].startswith("the device was lost, and ")
    assert found["after"] == expected(2)


def test_a_loss_while_loading(page: Page, site: Site, backend: str) -> None:
    """The first device goes as soon as its kernels are being compiled."""
    open_bundle(page, site, "tiny", backend)
    script = """
      let losses = 0;
      const { createComputePipelineAsync } = globalThis.GPUDevice?.prototype ?? {};
      const { linkProgram } = WebGL2RenderingContext.prototype;
      if (createComputePipelineAsync) {
        GPUDevice.prototype.createComputePipelineAsync = function (...given) {
          const made = createComputePipelineAsync.apply(this, given);
          if (losses++ === 0) this.destroy();
          return made;
        };
      }
      WebGL2RenderingContext.prototype.linkProgram = function (...given) {
        linkProgram.apply(this, given);
        if (losses++ === 1) this.getExtension('WEBGL_lose_context').loseContext();
      };
      const model = await bundle.load({ backend: argument, worker: false });
      return { head: await head(model, 3), losses, backend: model.backend };
    """
    found = value(page, script, backend)
    assert (found["head"], found["backend"]) == (expected(3), backend)
    assert found["losses"] > 3


def test_a_gpu_that_is_lost_whenever_it_is_loaded_is_passed_over(page: Page, site: Site, backend: str) -> None:
    open_bundle(page, site, "tiny", backend)
    pretend(page)
    script = """
      const { createComputePipelineAsync } = globalThis.GPUDevice?.prototype ?? {};
      const { linkProgram } = WebGL2RenderingContext.prototype;
      if (createComputePipelineAsync) {
        GPUDevice.prototype.createComputePipelineAsync = async function (...given) {
          this.destroy();
          await this.lost; // else a load may be over before the browser tells of it
          return createComputePipelineAsync.apply(this, given);
        };
      }
      const known = new WeakSet(); // whose first program tries what the context can do
      WebGL2RenderingContext.prototype.linkProgram = function (...given) {
        linkProgram.apply(this, given);
        if (known.has(this)) this.getExtension('WEBGL_lose_context')?.loseContext();
        known.add(this);
      };
      const alone = await outcome(bundle.load({ backend: argument, worker: false }));
      return { alone, info: (await bundle.load({ worker: false })).info() };
    """
    found = value(page, script, backend)
    assert (found["alone"]["name"], found["alone"]["code"]) == ("DeviceLostError", "lost")
    assert found["info"]["backend"] == "wasm"
    reasons = {passed["backend"]: passed["reason"] for passed in found["info"]["passedOver"]}
    assert reasons[backend] == found["alone"]["message"]


def test_dispose_frees_everything(page: Page, site: Site, backend: str) -> None:
    open_bundle(page, site, "tiny", backend)
    script = """
      const alive = count(gpuObjects);
      const model = await bundle.load({ backend: argument, worker: false });
      await head(model, 1);
      const held = Object.values(alive).reduce((a, b) => a + b);
      await model.profile({ input: fill(1) });
      lose(model);
      await head(model, 1);
      const again = Object.values(alive).reduce((a, b) => a + b);
      await model.dispose();
      await model.dispose();
      await Promise.all(devices.map((device) => device.lost));
      return { held, again, alive, lost: contexts.every((gl) => gl.isContextLost()), devices: devices.length };
    """
    found = value(page, script, backend)
    assert found["held"] >= 5
    assert found["again"] == found["held"]  # nothing of the lost device is left
    assert {name: n for name, n in found["alive"].items() if n} == {}
    assert found["lost"]
    assert found["devices"] == (2 if backend == "webgpu" else 0)


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
def test_dispose_rejects_what_is_pending(page: Page, site: Site, backend: str, worker: bool) -> None:
    open_bundle(page, site, "tiny", backend)
    script = """
      const model = await bundle.load(argument);
      const pending = [1, 2, 3].map((i) => outcome(head(model, i)));
      await model.dispose();
      const later = [await outcome(head(model, 1)), await outcome(model.profile({ input: fill(1) }))];
      return [...(await Promise.all(pending)), ...later];
    """
    for refused in value(page, script, {"backend": backend, "worker": worker}):
        assert refused == {"name": "RunError", "code": "disposed", "message": "the model was disposed of"}


def test_two_models_at_once(page: Page, site: Site, backend: str) -> None:
    """Both in the same page, runs in turns, a loss that meets both on WebGL, and one outlives the other."""
    open_bundle(page, site, "tiny", backend)
    script = """
      const options = { backend: argument, worker: false };
      const [a, b] = await Promise.all([bundle.load(options), bundle.load(options)]);
      const turns = await Promise.all([1, 2, 3, 4].map((i) => head(i % 2 ? a : b, i)));
      lose(a);
      turns.push(...(await Promise.all([head(a, 5), head(b, 6)])));
      await a.dispose();
      turns.push(await head(b, 7));
      const used = contexts.length;
      await b.dispose();
      return { turns, used, left: contexts.filter((gl) => !gl.isContextLost()).length };
    """
    found = value(page, script, backend)
    assert found["turns"] == [expected(i) for i in range(1, 8)]
    assert found["used"] == (2 if backend == "webgl" else 0)  # one context for both, and one after the loss
    assert found["left"] == 0


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
@pytest.mark.fresh_page
def test_five_hundred_runs_allocate_nothing_on_the_device(page: Page, site: Site, backend: str, worker: bool) -> None:
    open_bundle(page, site, "tiny", backend)
    page.evaluate(
        """async (options) => {
          globalThis.created = 0;
          for (const type of ['GPUDevice', 'WebGL2RenderingContext']) {
            const prototype = globalThis[type]?.prototype ?? {};
            for (const name of Object.getOwnPropertyNames(prototype)) {
              // An encoder lives for one submit, a fence for one readback; neither holds memory.
              if (!name.startsWith('create') || name === 'createCommandEncoder') continue;
              const create = prototype[name];
              prototype[name] = function (...given) { created++; return create.apply(this, given); };
            }
          }
          globalThis.model = await bundle.load(options);
          globalThis.runs = async (n) => {
            const input = fill(1);
            const before = created;
            for (let i = 0; i < n; i++) await model.run({ input });
            return created - before;
          };
        }""",
        {"backend": backend, "worker": worker},
    )
    heap = measure_heap(page)
    assert page.evaluate("runs(100)") == 0
    before = heap()
    assert page.evaluate("runs(500)") == 0
    assert heap() - before < 200_000  # the outputs alone come to 2 MB
    assert worker or page.evaluate("created") > 5


def test_a_loss_after_the_signal_of_the_load(page: Page, site: Site, backend: str) -> None:
    """Which is of no consequence once the model is there, nor when its files are fetched again."""
    open_bundle(page, site, "tiny", backend)
    script = """
      const controller = new AbortController();
      const model = await bundle.load({ backend: argument, worker: false, signal: controller.signal });
      controller.abort();
      lose(model);
      return head(model, 3);
    """
    assert value(page, script, backend) == expected(3)
