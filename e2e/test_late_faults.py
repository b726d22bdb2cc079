"""Backends that are given up after the load: the model goes on by the next one, and states say that they are gone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
import pytest
from compiled import compile_site
from decoders.tiny import DIMS, Passed, tiny_decoder
from device_artifacts import LENGTH, tiny_device_artifact
from devices import DEVICES, expected, open_anew, pretend, value, write_site
from generation.test_generate import PROMPT
from generation.test_generate import expected as expected_tokens
from harness import BEFORE_WORKERS
from onnx_models import model as model_of
from onnx_models import node
from played_generation import SIZES
from playwright.sync_api import Page
from server import Site, serve
from small_decoder import small_decoder
from test_device_sessions import sizes_of
from tiny_artifact import tiny_weights
from webnn_compile.generation.sample import Sampling

W, C = tiny_weights(LENGTH)

BREAK = """
  globalThis.broken = [];
  const skip = (backend, prototype, name) => {
    const own = prototype[name];
    prototype[name] = function (...given) { if (!broken.includes(backend)) own.apply(this, given); };
  };
  if (globalThis.GPUDevice) skip('webgpu', GPUComputePassEncoder.prototype, 'dispatchWorkgroups');
  skip('webgl', WebGL2RenderingContext.prototype, 'drawArrays');
  globalThis.until = async (holds) => {
    const end = performance.now() + 20_000;
    while (!(await holds())) {
      if (performance.now() > end) throw new Error('it takes 20 seconds');
      await new Promise((resolve) => setTimeout(resolve));
    }
  };
  globalThis.giveUp = async (model, run) => {
    const { backend } = model;
    broken.push(backend);
    await until(async () => {
      await run().catch(() => {});
      return model.backend !== backend;
    });
  };
"""
"""Launches of the backends in `broken` do nothing. `giveUp` makes the backend of a model one of these, and runs until
there is another: canaries are tried again after a hundred runs."""


def on_wasm(value: float) -> list[float]:
    """The head of what the tiny model makes of an input of `value` everywhere, on wasm."""
    result: list[float] = (W * value + C).clip(0)[:8].tolist()
    return result


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    bundles = {
        "tiny": tiny_device_artifact(*DEVICES, "wasm", canaries=True),
        **{f"{backend}-or-wasm": tiny_device_artifact(backend, "wasm", canaries=True) for backend in DEVICES},
        "gpus": tiny_device_artifact(*DEVICES, canaries=True),
    }
    with serve(write_site(tmp_path_factory.mktemp("late"), bundles)) as served:
        yield served


def open_unbroken(page: Page, site: Site, name: str, backend: str) -> list[str]:
    """As a first visit, on a page with a GPU that may be broken later; the warnings of its console from now on."""
    warnings = open_anew(page, site, name, backend)
    pretend(page)
    page.evaluate(f"() => {{ {BREAK} }}")
    return warnings


def test_the_next_backend_is_taken(page: Page, site: Site, backend: str) -> None:
    warnings = open_unbroken(page, site, f"{backend}-or-wasm", backend)
    script = """
      const told = [];
      const phases = [];
      const model = await bundle.load({
        worker: false,
        canaries: 'all',
        onCanaries: (report) => told.push(structuredClone(report)),
        onProgress: ({ phase }) => phases.push(phase),
      });
      const first = model.backend;
      await giveUp(model, () => head(model, 2));
      const found = { first, info: model.info(), right: [await head(model, 2), await head(model, 3)], told };
      found.profiled = (await model.profile({ input: fill(1) })).length;
      found.phases = phases.at(-1);
      found.refused = await outcome(model.run({ input: fill(1) }, { output: 'gpu-buffer' }));
      await model.dispose();
      found.disposed = (await outcome(head(model, 1))).code;
      broken.length = 0;
      const again = await bundle.load({ worker: false, canaries: 'all' });
      found.again = again.info();
      await again.dispose();
      return found;
    """
    found = value(page, script)
    info, again = found["info"], found["again"]
    assert (found["first"], info["backend"], found["right"]) == (backend, "wasm", [on_wasm(2), on_wasm(3)])
    (passed,) = info["passedOver"]
    assert passed["backend"] == backend
    assert passed["reason"].startswith(f"{backend} gives wrong results on this adapter (")
    assert [passed["reason"]] == warnings
    assert {(one["backend"], one["action"]) for one in info["canaries"]["failed"]} == {(backend, "other-backend")}
    assert found["told"][-1] == info["canaries"]
    assert ("adapter" in info, "variant" in info, found["profiled"] > 0) == (False, True, True)
    assert (found["phases"], found["disposed"]) == ("ready", "disposed")
    assert found["refused"]["message"].endswith("this model runs on wasm")
    # It is known at the next visit.
    for name in ("backend", "passedOver"):
        assert again[name] == info[name]
    assert again["canaries"]["failed"] == info["canaries"]["failed"]
    assert again.keys() == info.keys()


def test_each_backend_after_the_other(page: Page, site: Site) -> None:
    """WebGL where WebGPU computes wrongly, and the CPU where both do; a bundle without wasm rejects in the end."""
    for backend in DEVICES:
        open_unbroken(page, site, "tiny", backend)
    script = """
      const model = await bundle.load({ worker: false, canaries: 'all' });
      const found = [];
      for (let turn = 0; turn < 3; turn++) {
        if (turn) await giveUp(model, () => head(model, 2));
        const { backend, passedOver, canaries, adapter = '' } = model.info();
        found.push([backend, passedOver.map((one) => one.backend), canaries.failed.map((one) => one.backend), adapter]);
        found.push(await head(model, 3));
      }
      await model.dispose();
      return found;
    """
    first, right, second, still, third, last = value(page, script)
    assert (first[0], second[0], third[0]) == ("webgpu", "webgl", "wasm")
    assert (first[1:3], second[1]) == ([[], []], ["webgpu"])
    assert third[1] == ["webgpu", "webgl"]
    assert (set(second[2]), set(third[2])) == ({"webgpu"}, {"webgpu", "webgl"})
    assert (bool(second[3]), third[3]) == (True, "")
    assert (right, still, last) == (expected(3), expected(3), on_wasm(3))
    open_unbroken(page, site, "gpus", "webgpu")
    script = """
      const model = await bundle.load({ worker: false, canaries: 'all' });
      await giveUp(model, () => head(model, 2));
      broken.push('webgl');
      await until(async () => 'code' in (await outcome(head(model, 1))));
      const refused = [await outcome(head(model, 1)), await outcome(head(model, 1))];
      return { refused, backend: model.backend };
    """
    found = value(page, script)
    assert [refused["code"] for refused in found["refused"]] == ["wrong-results"] * 2
    assert found["backend"] == "webgl"


GONE = """(sign) => {
  let here = true;
  const gone = [];
  const isSign = (data) => {
    const { buffer = data, byteOffset = 0, byteLength } = data;
    if (byteLength > 8192) return false;
    const whole = buffer.slice(byteOffset, byteOffset + (byteLength & ~3));
    return new Float32Array(whole).includes(sign) || new Int32Array(whole).includes(sign);
  };
  const after = (prototype, name, at, then) => {
    const own = prototype[name];
    prototype[name] = function (...given) {
      own.apply(this, given);
      if (here && isSign(given[at])) {
        here = false;
        then(this);
      }
    };
  };
  if (globalThis.GPUDevice) {
    const { requestAdapter } = GPU.prototype;
    GPU.prototype.requestAdapter = async function (...given) {
      return here ? requestAdapter.apply(this, given) : null;
    };
    const { requestDevice } = GPUAdapter.prototype;
    GPUAdapter.prototype.requestDevice = async function (...given) {
      const device = await requestDevice.apply(this, given);
      gone.push(device);
      return device;
    };
    after(GPUQueue.prototype, 'writeBuffer', 2, () => gone.forEach((device) => device.destroy()));
  }
  const lose = (gl) => gl.getExtension('WEBGL_lose_context').loseContext();
  after(WebGL2RenderingContext.prototype, 'texSubImage3D', 10, lose);
  const { getContext } = OffscreenCanvas.prototype;
  OffscreenCanvas.prototype.getContext = function (...given) {
    return here ? getContext.apply(this, given) : null;
  };
}"""
"""The GPU is gone once an input with this number is there, and cannot be had again."""

GOING = 77.25


@pytest.mark.fresh_page
@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
def test_a_gpu_that_cannot_be_had_again(page: Page, site: Site, backend: str, worker: bool) -> None:
    """Runs that are under way then have the inputs that they were given, though the caller has others in these arrays;
    one that is cancelled rejects."""
    warnings = open_anew(page, site, f"{backend}-or-wasm", backend)
    pretend(page)
    page.evaluate(BEFORE_WORKERS % GONE if worker else GONE, GOING)
    script = """
      const model = await bundle.load({ worker: argument.worker, canaries: false });
      const first = model.backend;
      const values = [];
      const abort = new AbortController();
      let cancelled;
      for (let turn = 0; turn < 4; turn++) {
        const running = [0, 1, 2].map((i) => {
          const input = fill(argument.values[3 * turn + i]);
          const result = model.run({ input });
          input.fill(NaN);
          return result;
        });
        if (turn === 3) cancelled = outcome(model.run({ input: fill(1) }, { signal: abort.signal }));
        for (const { output } of await Promise.all(running)) values.push([...output].slice(0, 8));
        abort.abort();
      }
      const info = model.info();
      await model.dispose();
      return { first, values, info, cancelled: (await cancelled).name };
    """
    values = [0, 1, 2, 3, 4, 5, GOING, 7, 8, 9, 10, 11]
    found = value(page, script, {"worker": worker, "values": values})
    assert (found["first"], found["info"]["backend"]) == (backend, "wasm")
    assert found["values"] == [expected(i) for i in values[:6]] + [on_wasm(i) for i in values[6:]]
    assert found["cancelled"] in ("AbortError", None)
    (passed,) = found["info"]["passedOver"]
    assert passed["backend"] == backend
    assert passed["reason"].startswith("the device was lost, and ")
    (warning,) = warnings
    assert warning.startswith(f"{backend} is given up, and the next backend is taken: the device was lost, and ")


@pytest.mark.fresh_page
def test_in_a_module_worker_of_the_page(page: Page, site: Site, backend: str) -> None:
    open_anew(page, site, f"{backend}-or-wasm", backend)
    pretend(page)
    script = """
      const [name, pause] = argument;
      const text = `
        ${pause}
        const { load } = await import('${new URL(name, location.href)}/model.js');
        const model = await load({ canaries: 'all' });
        const first = model.backend;
        const run = async (value) => [...(await model.run({ input: new Float32Array(1024).fill(value) })).output];
        await giveUp(model, () => run(2));
        postMessage([first, model.backend, (await run(3)).slice(0, 8)]);
      `;
      const url = URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));
      const worker = new Worker(url, { type: 'module' });
      const found = await new Promise((resolve, reject) => {
        worker.onerror = ({ message }) => reject(new Error(message));
        worker.onmessage = ({ data }) => resolve(data);
      });
      worker.terminate();
      return found;
    """
    found = value(page, script, [f"{backend}-or-wasm", BREAK])
    assert found == [backend, "wasm", on_wasm(3)]


def test_where_its_files_do_not_load_the_next_run_tries_again(page: Page, site: Site) -> None:
    open_unbroken(page, site, "webgpu-or-wasm", "webgpu")
    blocked = f"{site.url}webgpu-or-wasm/*.wasm"
    page.route(blocked, lambda route: route.abort())
    script = """
      const model = await bundle.load({ worker: false, canaries: 'all' });
      broken.push('webgpu');
      globalThis.model = model;
      let refused = {};
      await until(async () => 'code' in (refused = await outcome(head(model, 1))));
      return { backend: model.backend, refused };
    """
    found = value(page, script)
    assert (found["backend"], found["refused"]["name"]) == ("webgpu", "DownloadError")
    page.unroute(blocked)
    assert value(page, "return [await head(model, 1), model.backend]") == [on_wasm(1), "wasm"]


@pytest.fixture(scope="module")
def decoders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("late-decoders")
    made = folder / "site"
    onnx.save(tiny_decoder(), folder / "tiny.onnx")
    onnx.save(small_decoder(), folder / "small.onnx")
    options = {
        **{f"tiny-{backend}": ("tiny.onnx", f"--targets={backend},wasm", *sizes_of(DIMS)) for backend in DEVICES},
        "generate": ("small.onnx", "--targets=webgpu,wasm", "--generate=", *SIZES),
    }
    for name, (model, *others) in options.items():
        compile_site(folder / model, made / name, "--canaries=on", *others)
    for name, op, constant in (("first", "Add", 1), ("second", "Mul", 3)):
        numbers = {"c": np.full(1, constant, np.float32)}
        onnx.save(model_of([node(op, ["x", "c"], ["y"])], {"x": (4,)}, ["y"], numbers), folder / f"{name}.onnx")
    both = (str(folder / "second.onnx"), "--targets=webgpu,wasm", "--canaries=on")
    compile_site(folder / "first.onnx", made / "pair", *both)
    with serve(write_site(made, {})) as served:
        yield served


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
def test_states_are_gone_until_they_are_made_anew(page: Page, decoders: Site, backend: str, worker: bool) -> None:
    """Sessions that have not run yet, or begin anew, are right; what was saved is loaded. Nothing is computed on other
    states than those of its session."""
    open_anew(page, decoders, f"tiny-{backend}/bundle", backend)
    pretend(page)
    script = BEFORE_WORKERS % GONE if worker else GONE
    page.evaluate(script, 30)
    script = """
      const model = await bundle.load({ canaries: false, worker: argument.worker, restoreState: argument.restore });
      const words = (ids) => ({ input_ids: { data: BigInt64Array.from(ids, BigInt), shape: [1, ids.length] } });
      const say = async (session, ids) => Array.from((await session.run(words(ids))).logits);
      const other = await model.session();
      const fresh = await model.session();
      const idle = await model.session();
      for (const ids of [[1, 2, 3], [4]]) for (const session of [model, other]) await say(session, ids);
      const saved = await other.saveState();
      const found = { first: model.backend };
      found.refused = await outcome(say(model, [30]));
      found.position = model.position;
      found.again = await outcome(say(model, [5]));
      found.saved = await outcome(model.saveState());
      found.other = await outcome(say(other, [5]));
      found.fresh = await say(fresh, [7]);
      found.backend = model.backend;
      found.still = await outcome(say(model, [5]));
      found.forked = await outcome(model.fork());
      await other.loadState(saved);
      found.loaded = [await say(other, [5]), other.position];
      await model.reset();
      found.reset = [await say(model, [6, 7]), model.position];
      const fork = await other.fork();
      found.fork = await say(fork, [8]);
      found.unmoved = await say(other, [8]);
      const late = await model.session();
      found.late = await say(late, [7]);
      await idle.dispose();
      await fork.dispose();
      await model.dispose();
      return found;
    """
    found = value(page, script, {"backend": backend, "worker": worker, "restore": False})
    assert (found["first"], found["backend"]) == (backend, "wasm")
    for name in ("refused", "again", "saved", "other", "still", "forked"):
        assert (found[name].get("name"), found[name].get("code")) == ("StateLostError", "state-lost"), name
        assert "reset() or loadState() first" in found[name]["message"]
    assert (found["loaded"][1], found["reset"][1]) == (5, 2)
    runs = {
        "loaded": [[1, 2, 3], [4], [5]],
        "reset": [[6, 7]],
        "fresh": [[7]],
        "late": [[7]],
        "fork": [[1, 2, 3], [4], [5], [8]],
        "unmoved": [[1, 2, 3], [4], [5], [8]],
    }
    for name, ids in runs.items():
        passed = Passed.of(tiny_decoder())
        want = [passed.run(one) for one in ids][-1]
        got = found[name][0] if name in ("loaded", "reset") else found[name]
        np.testing.assert_allclose(np.reshape(got, want.shape), want, rtol=2e-4, atol=2e-4, err_msg=name)


def test_generating_rejects_and_goes_on_from_what_was_saved(page: Page, decoders: Site) -> None:
    """No token comes twice, and none is left out."""
    open_unbroken(page, decoders, "generate/bundle", "webgpu")
    script = """
      const model = await bundle.load({ canaries: 'all', worker: false, restoreState: true });
      const take = async (session, options, count) => {
        const tokens = [];
        for await (const token of session.generate({ maxTokens: count, ...options })) tokens.push(token);
        return tokens;
      };
      const found = { first: model.backend };
      const tokens = await take(model, { ids: argument }, 8);
      await model.saveState();
      const going = model.generate({ resume: true });
      tokens.push((await going.next()).value);
      const other = await model.session();
      await giveUp(model, () => take(other, { ids: [5] }, 1));
      while (!found.refused) {
        // A step may have been launched ahead while all was right.
        const { value, ...refused } = await outcome(going.next());
        if (value) tokens.push(value.value);
        else found.refused = refused;
      }
      const ids = [...argument, ...tokens].slice(model.position);
      tokens.push(...(await take(model, { ids, resume: true }, 20 - tokens.length)));
      const { backend } = model;
      return { ...found, backend, tokens, other: await take(other, { ids: argument }, 20) };
    """
    found = value(page, script, PROMPT)
    assert (found["first"], found["backend"]) == ("webgpu", "wasm")
    assert (found["refused"]["name"], found["refused"]["code"]) == ("StateLostError", "state-lost")
    assert found["tokens"] == found["other"] == expected_tokens(20, Sampling())


def test_of_two_models_each_has_its_own(page: Page, decoders: Site) -> None:
    open_unbroken(page, decoders, "pair/bundle", "webgpu")
    script = """
      const models = await bundle.load({ canaries: 'all', worker: false });
      const run = async ({ run }) => Object.values(await run({ x: Float32Array.of(1, 2, 3, 4) }))[0];
      const first = [await run(models.first), await run(models.second)];
      await giveUp(models.first, () => run(models.first));
      broken.length = 0;
      const second = [await run(models.first), await run(models.second)];
      const info = models.info();
      await models.dispose();
      const values = [...first, ...second].map((array) => [...array]);
      return { values, backends: [info.first.backend, info.second.backend] };
    """
    found = value(page, script)
    assert found["backends"] == ["wasm", "webgpu"]
    np.testing.assert_allclose(found["values"], [[2, 3, 4, 5], [3, 6, 9, 12]] * 2)
