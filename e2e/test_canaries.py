"""Kernels that a GPU computes wrongly, without an error: found at load by launches whose results the build computed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from compiled import ROOT
from device_artifacts import tiny_program
from devices import DEVICES, GPU, expected, open_anew, open_bundle, pretend, value
from documentation import blocks
from harness import BEFORE_WORKERS, outcome
from playwright.sync_api import Page
from server import Site, serve
from tiny_artifact import tiny_weights
from wrong_kernels import DAMAGE, FAULTS, LOAD, MULTIPLY, write_wrong_kernels

W, C = tiny_weights(1024)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with serve(write_wrong_kernels(tmp_path_factory.mktemp("canaries"))) as served:
        yield served


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
def test_a_device_that_computes_rightly_passes(page: Page, site: Site, backend: str, worker: bool) -> None:
    warnings = open_anew(page, site, "tiny", backend)
    info, output = value(page, LOAD, {"backend": backend, "worker": worker, "canaries": "all"})
    assert info["canaries"] == {"checked": 3, "skipped": 0, "failed": []}
    assert (output, warnings) == (expected(2), [])


def test_nothing_is_left_of_them(page: Page, site: Site, backend: str) -> None:
    open_anew(page, site, "tiny", backend)
    script = """
      const counted = async (canaries) => {
        const alive = count(gpuObjects);
        const model = await bundle.load({ backend: argument, worker: false, canaries });
        const held = { ...alive };
        await model.dispose();
        return held;
      };
      return [await counted('all'), await counted(false)];
    """
    tried, untried = value(page, script, backend)
    assert tried == untried


@pytest.mark.parametrize("fault", FAULTS)
def test_a_backend_that_computes_wrongly_rejects_by_name(page: Page, site: Site, backend: str, fault: str) -> None:
    warnings = open_anew(page, site, "tiny", backend)
    page.evaluate(DAMAGE, FAULTS[fault][backend])
    adapter = value(page, f"return (await bundle.load({{ backend: '{backend}', canaries: false }})).info().adapter")
    refused = outcome(page, LOAD, {"backend": backend, "worker": False, "canaries": "all"})
    assert (refused["name"], refused["code"]) == ("UnsupportedError", "wrong-results")
    what, *advice = refused["message"].split("; ")
    assert advice == ["load({ backend }) takes another", "update the driver"]
    start, kernels = what.split(", by kernel ")
    assert start == f"{backend} gives wrong results on this adapter ({adapter})"
    if fault == "factor":
        assert kernels == "multiply (nodes: Mul_0)"
    assert warnings == [refused["message"]]


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
def test_then_the_next_backend_is_taken(page: Page, site: Site, worker: bool) -> None:
    """WebGL where WebGPU computes wrongly, and the CPU where both do."""
    open_anew(page, site, "tiny", "webgpu")
    pretend(page)
    script = BEFORE_WORKERS % DAMAGE if worker else DAMAGE
    page.evaluate(script, FAULTS["factor"]["webgpu"])
    info, output = value(page, LOAD, {"worker": worker, "canaries": "all"})
    assert (info["backend"], output) == ("webgl", expected(2))
    assert info["canaries"] == {"checked": 3, "skipped": 0, "failed": [MULTIPLY]}
    ((reason, backend),) = ((passed["reason"], passed["backend"]) for passed in info["passedOver"])
    assert (backend, f"({GPU}), by kernel multiply (nodes: Mul_0); " in reason) == ("webgpu", True)
    page.evaluate(script, FAULTS["factor"]["webgl"])
    info, output = value(page, LOAD, {"worker": worker, "canaries": "all"})
    assert (info["backend"], output) == ("wasm", (2 * W + C).clip(0)[:8].tolist())
    both = [MULTIPLY, {**MULTIPLY, "backend": "webgl"}]
    assert info["canaries"] == {"checked": 6, "skipped": 0, "failed": both}  # instructions of wasm
    assert [passed["backend"] for passed in info["passedOver"]] == ["webgpu", "webgl"]


def test_visits_remember_it_until_the_adapter_is_another(page: Page, site: Site, backend: str) -> None:
    warnings = open_anew(page, site, f"{backend}-or-wasm", backend)
    pretend(page)
    page.evaluate(DAMAGE, FAULTS["factor"][backend])
    first, _ = value(page, LOAD, {"worker": False, "canaries": "all"})
    assert (first["backend"], page.evaluate("compiled") > 0, len(warnings)) == ("wasm", True, 1)
    page.evaluate("() => { compiled = 0; faulty = false; }")
    second, _ = value(page, LOAD, {"worker": False, "canaries": "all"})
    assert (second["backend"], second["canaries"]) == ("wasm", first["canaries"])
    assert (second["passedOver"], len(warnings)) == (first["passedOver"], 1)
    tried = page.evaluate("compiled")
    assert tried <= 4  # what WebGL is probed with
    pretend(page, "NVIDIA GeForce RTX 4090")
    third, output = value(page, LOAD, {"worker": False, "canaries": "all"})
    assert (third["backend"], output) == (backend, expected(2))
    assert third["canaries"] == {"checked": 3, "skipped": 0, "failed": []}


def test_by_name_it_is_tried_again(page: Page, site: Site, backend: str) -> None:
    """And where it passes, auto takes it, too: a driver is mended under its old name."""
    open_anew(page, site, f"{backend}-or-wasm", backend)
    pretend(page)
    page.evaluate(DAMAGE, FAULTS["factor"][backend])
    info, _ = value(page, LOAD, {"worker": False})
    assert info["backend"] == "wasm"
    assert outcome(page, LOAD, {"worker": False, "backend": backend})["code"] == "wrong-results"
    page.evaluate("() => { faulty = false; }")
    for options in ({"worker": False, "backend": backend}, {"worker": False}):
        info, _ = value(page, LOAD, options)
        assert (info["backend"], info["canaries"]["failed"]) == (backend, [])


def test_without_a_database_each_visit_tries(page: Page, site: Site, backend: str) -> None:
    open_anew(page, site, f"{backend}-or-wasm", backend)
    pretend(page)
    page.evaluate("() => { Object.defineProperty(globalThis, 'indexedDB', { value: undefined }); }")
    page.evaluate(DAMAGE, FAULTS["factor"][backend])
    assert value(page, LOAD, {"worker": False})[0]["backend"] == "wasm"
    page.evaluate("() => { faulty = false; }")
    assert value(page, LOAD, {"worker": False})[0]["backend"] == backend


def test_false_leaves_them_out(page: Page, site: Site, backend: str) -> None:
    open_anew(page, site, "tiny", backend)
    page.evaluate(DAMAGE, FAULTS["factor"][backend])
    info, output = value(page, LOAD, {"backend": backend, "worker": False, "canaries": False})
    assert ("canaries" in info, output == expected(2)) == (False, False)
    refused = outcome(page, LOAD, {"canaries": "some"})
    assert (refused["name"], refused["message"]) == ("TypeError", "canaries: expected true, false or 'all', got some")


@pytest.mark.parametrize("backend", [*DEVICES, "wasm"])
def test_a_bundle_without_any_says_nothing(page: Page, site: Site, backend: str) -> None:
    open_bundle(page, site, "without", backend)
    info, _ = value(page, LOAD, {"backend": backend, "worker": False, "canaries": "all"})
    assert "canaries" not in info


def test_software_leaves_out_what_takes_long(page: Page, site: Site, backend: str) -> None:
    open_anew(page, site, f"large-{backend}", backend)
    pretend(page, "llvmpipe")
    info, _ = value(page, LOAD, {"backend": backend, "worker": False})
    assert info["software"]
    assert 1 <= info["canaries"]["skipped"] == 3 - info["canaries"]["checked"]
    pretend(page)
    page.evaluate("() => { performance.now = () => 0; }")  # by estimates alone: this machine may be slow
    info, _ = value(page, LOAD, {"backend": backend, "worker": False})
    assert info["canaries"]["checked"] == 3


def test_a_gpu_leaves_out_what_takes_long(page: Page, site: Site, backend: str) -> None:
    """Longer than 50 ms on any: these are computed with all of them."""
    open_anew(page, site, f"huge-{backend}", backend)
    pretend(page)
    info, _ = value(page, LOAD, {"backend": backend, "worker": False})
    assert 1 <= info["canaries"]["skipped"] == 3 - info["canaries"]["checked"]
    info, _ = value(page, LOAD, {"backend": backend, "worker": False, "canaries": "all"})
    assert info["canaries"] == {"checked": 3, "skipped": 0, "failed": []}


def test_each_report_is_passed_to_the_callback(page: Page, site: Site, backend: str) -> None:
    """At load and on the device after a lost one; a fault of the caller's function spoils neither."""
    open_anew(page, site, f"{backend}-or-wasm", backend)
    pretend(page)
    page.evaluate(DAMAGE, FAULTS["factor"][backend])
    script = """
      const told = [];
      const onCanaries = (report) => { told.push(structuredClone(report)); throw new Error('mine'); };
      const faults = [];
      addEventListener('error', (event) => { faults.push(event.error.message); event.preventDefault(); });
      const given = { backend: argument, worker: false, canaries: 'all', onCanaries };
      faulty = false;
      const model = await bundle.load(given);
      lose(model);
      await head(model, 2);
      await model.dispose();
      faulty = true;
      const other = await bundle.load({ ...given, backend: 'auto' });
      await other.dispose();
      return { told, faults, refused: await outcome(bundle.load({ onCanaries: 1 })) };
    """
    found = value(page, script, backend)
    right = {"checked": 3, "skipped": 0, "failed": []}
    *first, last = found["told"]
    assert first == [right, right]
    assert [one["action"] for one in last["failed"]] == ["other-backend"]
    assert set(found["faults"]) == {"mine"}
    assert found["refused"]["message"] == "onCanaries: expected a function, got number"


BROKEN = """
  globalThis.broken = false;
  const skip = (prototype, name) => {
    const own = prototype[name];
    prototype[name] = function (...given) { if (!broken) own.apply(this, given); };
  };
  if (globalThis.GPUDevice) skip(GPUComputePassEncoder.prototype, 'dispatchWorkgroups');
  skip(WebGL2RenderingContext.prototype, 'drawArrays');
"""
"""Launches do nothing, once `broken` is true."""


def test_a_device_after_a_loss_is_tried_again(page: Page, site: Site, backend: str) -> None:
    warnings = open_anew(page, site, "tiny", backend)
    page.evaluate(DAMAGE, FAULTS["factor"][backend])
    script = """
      faulty = false;
      const model = await bundle.load({ backend: argument, worker: false, canaries: 'all' });
      const before = await head(model, 2);
      lose(model);
      const right = await head(model, 3);
      faulty = true;
      lose(model);
      const refused = [await outcome(head(model, 4)), await outcome(head(model, 5))];
      await model.dispose();
      return { before, right, refused: [...refused, await outcome(head(model, 6))] };
    """
    found = value(page, script, backend)
    assert (found["before"], found["right"]) == (expected(2), expected(3))
    assert [refused["code"] for refused in found["refused"]] == ["wrong-results", "wrong-results", "disposed"]
    assert len(warnings) == 1


def test_they_are_tried_again_after_a_hundred_runs(page: Page, site: Site, backend: str) -> None:
    """And where one fails then, for which there is no other source, no run gives a result any more."""
    warnings = open_anew(page, site, "tiny", backend)
    pretend(page)
    page.evaluate(f"() => {{ {BROKEN} }}")
    script = """
      const model = await bundle.load({ backend: argument, worker: false, canaries: 'all' });
      let last;
      for (let i = 0; i < 100; i++) last = await head(model, 2);
      // The device breaks when the last run is over, before the page is idle.
      broken = true;
      const until = performance.now() + 20_000;
      let refused;
      do {
        await new Promise((resolve) => setTimeout(resolve, 20));
        refused = await outcome(head(model, 2));
      } while (refused.value && performance.now() < until);
      broken = false;
      return { last, refused: [refused, await outcome(head(model, 2))], canaries: model.info().canaries };
    """
    found = value(page, script, backend)
    failed = found["canaries"]["failed"]
    assert sorted(one["kernel"] for one in failed) == sorted(one.name for one in tiny_program(backend).kernels)
    assert {(one["backend"], one["action"]) for one in failed} == {(backend, "other-backend")}
    assert found["last"] == expected(2)
    assert [refused["code"] for refused in found["refused"]] == ["wrong-results"] * 2
    assert (len(warnings), "and 2 more" in warnings[0]) == (1, True)


@pytest.mark.fresh_page
def test_what_a_worker_finds_after_a_hundred_runs_is_reported(page: Page, site: Site, backend: str) -> None:
    """Two kernels fail at their launch 102, when they are tried once more; the third one is launched at load alone."""
    open_anew(page, site, "tiny", backend)
    script = """
      const { breakWorkers } = await import('./broken_device.js');
      breakWorkers('later', { right: 101 });
      const model = await bundle.load({ backend: argument, worker: true, canaries: 'all' });
      const before = model.info().canaries.failed.length;
      for (let i = 0; i < 100; i++) await head(model, 2);
      const until = performance.now() + 20_000;
      while (!model.info().canaries.failed.length && performance.now() < until)
        await new Promise((resolve) => setTimeout(resolve, 20));
      const { failed } = model.info().canaries;
      await model.dispose();
      return { before, actions: failed.map(({ action }) => action) };
    """
    assert value(page, script, backend) == {"before": 0, "actions": ["other-backend"] * 2}


def test_the_bundles_page_shows_them(page: Page, site: Site) -> None:
    open_anew(page, site, "tiny", "webgpu")
    page.goto(f"{site.url}large-webgpu/")
    page.get_by_text("Ready, on webgpu.").wait_for()
    row = page.locator("#info tr", has_text="canaries")
    assert "failed none" in row.inner_text()


def test_the_documented_script_reports_them(page: Page, site: Site) -> None:
    (script,) = (b.text for b in blocks(ROOT / "docs" / "canaries.md") if b.mark == f"run by e2e/{Path(__file__).name}")
    open_anew(page, site, "tiny", "webgpu")
    pretend(page)
    page.evaluate(DAMAGE, FAULTS["factor"]["webgpu"])
    inline = "const told = [], report = (text) => told.push(text), load = () => bundle.load({ worker: false });"
    told = value(page, f"{inline} {script}; return told;")
    assert told == ["webgpu: multiply is wrong, other-backend"]
