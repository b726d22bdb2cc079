"""Backends that are given up after the load: the model goes on by the next one, and states say that they are gone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from broken_later import BREAK, GONE, open_unbroken
from device_artifacts import LENGTH, tiny_device_artifact
from devices import DEVICES, expected, open_anew, pretend, value, write_site
from harness import BEFORE_WORKERS
from playwright.sync_api import Page
from server import Site, serve
from tiny_artifact import tiny_weights

W, C = tiny_weights(LENGTH)


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
