"""The classifier of digits in browsers: its results, where it runs, no allocations."""

from __future__ import annotations

from pathlib import Path

import pytest
from devices import COUNT_CALLS, value
from digits import OPTIONS, agrees, open_digits, reference
from playwright.sync_api import Page
from server import Site, serve

NO_WASM = {"Content-Security-Policy": "default-src 'self'; script-src 'self'; worker-src 'self'"}


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
def test_logits_are_those_of_the_reference(page: Page, digits_site: Site, backend: str, worker: bool) -> None:
    open_digits(page, digits_site, backend)
    script = """
      const model = await bundle.load(argument);
      const runs = [];
      for (const i of images.keys()) runs.push(await logits(model, i));
      const names = (await model.profile({ image: images[0] })).map(({ name }) => name);
      return { runs, names, backend: model.backend, kernels: model.info().kernels };
    """
    result = value(page, script, {"backend": backend, "worker": worker})
    assert result["backend"] == backend
    assert len(result["names"]) == result["kernels"]
    for found, expected in zip(result["runs"], reference(), strict=True):
        assert agrees(found, expected)


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
@pytest.mark.parametrize("bundle", OPTIONS)
def test_where_a_policy_forbids_wasm(page: Page, digits_folder: Path, backend: str, bundle: str, worker: bool) -> None:
    """A model that a GPU computes alone has no use of it."""
    with serve(digits_folder, headers=NO_WASM) as site:
        open_digits(page, site, backend, bundle)
        script = "const m = await bundle.load(argument); return [m.backend, await logits(m, 0)]"
        found, logits = value(page, script, {"backend": backend, "worker": worker})
        assert (found, agrees(logits, reference()[0])) == (backend, True)
        assert not any(path.endswith(".wasm") for path in site.requests)


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
@pytest.mark.parametrize("target", ["wasm", "webgl", "webgpu"])
def test_a_page_that_is_offline_runs_and_profiles(page: Page, digits_site: Site, target: str, worker: bool) -> None:
    open_digits(page, digits_site, target)
    options = {"backend": target, "worker": worker}
    info = value(page, "globalThis.model = await bundle.load(argument); return model.info()", options)
    digits_site.requests.clear()
    digits_site.faults["*"] = "refuse"
    try:
        script = "return [await logits(model, 0), (await model.profile({ image: images[0] })).length]"
        found, kernels = value(page, script)
    finally:
        digits_site.faults.clear()
    assert agrees(found, reference()[0])
    assert kernels == info["kernels"]
    assert digits_site.requests == []


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
def test_a_model_whose_steps_are_missing_runs(page: Page, digits_site: Site, worker: bool) -> None:
    """Profiles alone need them, and say so."""
    open_digits(page, digits_site, "wasm")
    digits_site.faults["steps-*.txt"] = "missing"
    try:
        script = """
          const stray = [];
          addEventListener('unhandledrejection', ({ reason }) => stray.push(String(reason)));
          const model = await bundle.load(argument);
          const refused = await outcome(model.profile({ image: images[0] }));
          return [refused, await logits(model, 0), stray];
        """
        refused, found, stray = value(page, script, {"backend": "wasm", "worker": worker})
    finally:
        digits_site.faults.clear()
    assert (refused["name"], refused["code"]) == ("DownloadError", "http")
    assert refused["message"].startswith("the server answered 404 for ")
    assert "/steps-" in refused["message"]
    assert agrees(found, reference()[0])
    assert stray == []


def test_runs_submit_once_each_and_create_nothing(page: Page, digits_site: Site, backend: str) -> None:
    """test_devices has 500 runs, of small models."""
    runs = 20
    open_digits(page, digits_site, backend)
    page.evaluate(COUNT_CALLS)
    script = """
      const alive = count(gpuObjects);
      const total = () => Object.values(alive).reduce((a, b) => a + b, 0);
      const model = await bundle.load({ backend: argument.backend, worker: false });
      const first = await logits(model, 0);
      const held = total();
      for (const name in calls) calls[name] = 0;
      for (let i = 1; i < argument.runs; i++) await model.run({ image: images[i % images.length] });
      const last = await logits(model, 0);
      return { calls, held, now: total(), kernels: model.info().kernels, same: String(first) === String(last) };
    """
    found = value(page, script, {"backend": backend, "runs": runs})
    assert found["same"]
    assert found["now"] == found["held"] > 20
    done = {name: n for name, n in found["calls"].items() if n}
    if backend == "webgpu":
        launches = done.pop("dispatchWorkgroups")
        assert done == {"createCommandEncoder": runs, "beginComputePass": runs, "submit": runs}
    else:
        launches = done.pop("drawArrays")
        assert done == {}
    assert launches == runs * found["kernels"]
