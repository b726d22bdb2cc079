"""Kernels that a GPU computes wrongly, without an error: found at load by launches whose results the build computed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from compiled import ROOT
from device_artifacts import tiny_canaries, tiny_device_artifact, tiny_program
from devices import DEVICES, GPU, HAS_FEATURE, expected, open_anew, open_bundle, pretend, value, write_site
from documentation import blocks
from harness import BEFORE_WORKERS, outcome
from playwright.sync_api import Page
from server import Site, serve
from tiny_artifact import tiny_weights
from webnn_compile.bundle import Artifact, DeviceArtifact
from webnn_compile.program.device_program import Alternative, DeviceProgram

W, C = tiny_weights(1024)
MULTIPLY = {"kernel": "multiply", "nodes": ["Mul_0"], "backend": "webgpu", "action": "other-backend"}
FAULTS = {
    "factor": {"webgpu": ["=a0*a1", "=1.01*a0*a1"], "webgl": ["return texelFetch", "return 1.01*texelFetch"]},
    "tail": {"webgpu": [">= 1024u", ">= 1020u"], "webgl": ["value(3)", "vec4(0.0)"]},
    "order": {"webgpu": ["p0[i]", "p0[i ^ 1]"], "webgl": ["4*int(gl_FragCoord.x)", "4*(int(gl_FragCoord.x)^1)"]},
}
"""Text that a defective driver puts in place of another one in shaders."""

SOURCES = {backend: tiny_program(backend).kernels[0].source for backend in DEVICES}
OTHERS = {
    "webgpu": SOURCES["webgpu"].replace("a0 * a1", "a1 * a0"),
    "webgl": SOURCES["webgl"].replace("return texelFetch", "return 1.0 * texelFetch"),
}
"""Sources of the first kernel, and others that a factor of FAULTS leaves as they are."""

DAMAGE = """([from, to]) => {
  globalThis.faulty = true;
  globalThis.compiled = 0;
  const damaged = (text) => (compiled++, faulty ? text.replaceAll(from, to) : text);
  if (globalThis.GPUDevice) {
    const { createShaderModule } = GPUDevice.prototype;
    GPUDevice.prototype.createShaderModule = function (given) {
      return createShaderModule.call(this, { ...given, code: damaged(given.code) });
    };
  }
  const { shaderSource } = WebGL2RenderingContext.prototype;
  WebGL2RenderingContext.prototype.shaderSource = function (shader, text) {
    shaderSource.call(this, shader, damaged(text));
  };
}"""


def with_kernel(backend: str, **changes: Any) -> DeviceProgram:
    """The tiny program with canaries, and its first kernel changed."""
    program = tiny_program(backend)
    multiply, *others = program.kernels
    return replace(program, canaries=tiny_canaries(backend), kernels=(replace(multiply, **changes), *others))


def replaced(
    backend: str, source: str, *alternatives: tuple[Literal["without-f16", "other-schedule"], str]
) -> Artifact:
    """The tiny program, whose first kernel has this source and others."""
    program = with_kernel(backend, source=source)
    own = tuple(Alternative(kind, replace(program.kernels[0], source=other)) for kind, other in alternatives)
    return alone(replace(program, alternatives={0: own}))


def alone(program: DeviceProgram) -> Artifact:
    return replace(tiny_device_artifact("wasm"), backends=(DeviceArtifact(program),))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    source = tiny_program("webgpu").kernels[0].source
    wrong = source.replace("a0 * a1", "a0 * a1 * 0.99")
    bundles = {
        "tiny": tiny_device_artifact(*DEVICES, "wasm", canaries=True),
        **{f"{backend}-or-wasm": tiny_device_artifact(backend, "wasm", canaries=True) for backend in DEVICES},
        "without": tiny_device_artifact(*DEVICES, "wasm"),
        "subgroups": alone(with_kernel("webgpu", with_subgroups=wrong)),
        "floats": replaced("webgpu", wrong, ("without-f16", source)),
        "wrong-floats": replaced("webgpu", wrong, ("without-f16", wrong), ("other-schedule", wrong)),
        **{f"other-{b}": replaced(b, SOURCES[b], ("other-schedule", OTHERS[b])) for b in DEVICES},
        **{f"large-{backend}": alone(with_kernel(backend, flops=10**9)) for backend in DEVICES},
        **{f"huge-{backend}": alone(with_kernel(backend, flops=10**12)) for backend in DEVICES},
    }
    with serve(write_site(tmp_path_factory.mktemp("canaries"), bundles)) as served:
        yield served


LOAD = """
  const model = await bundle.load(argument);
  const result = [model.info(), await head(model, 2)];
  await model.dispose();
  return result;
"""


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


def visit_twice(page: Page, action: str) -> None:
    """Results are right, by a source that is compiled beside the others on the first visit, and in their place then."""
    compiled = []
    for _ in range(2):
        page.evaluate("() => { compiled = 0; }")
        info, output = value(page, LOAD, {"worker": False, "canaries": "all"})
        failed = [{**MULTIPLY, "backend": info["backend"], "action": action}]
        assert (output, info["canaries"]) == (expected(2), {"checked": 3, "skipped": 0, "failed": failed})
        compiled.append(page.evaluate("compiled"))
    shaders = 1 if info["backend"] == "webgpu" else 2  # of vertices, too
    assert compiled[0] == compiled[1] + shaders


def test_the_source_without_subgroups_takes_its_place(page: Page, site: Site) -> None:
    """And is compiled at once on the next visit."""
    warnings = open_anew(page, site, "subgroups", "webgpu")
    if not page.evaluate(HAS_FEATURE, "subgroups"):
        pytest.skip("this browser's WebGPU has no subgroups on this machine")
    page.evaluate(DAMAGE, ["", ""])
    visit_twice(page, "without-subgroups")
    (warning,) = warnings
    assert warning.endswith(", by kernel multiply (nodes: Mul_0)")


def test_the_source_in_float32_takes_its_place(page: Page, site: Site) -> None:
    """It is fetched once a canary fails, and at once on the next visit."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2].partition("-")[0]))
    warnings = open_anew(page, site, "floats", "webgpu")
    page.evaluate(DAMAGE, ["", ""])
    right = value(page, LOAD, {"worker": False, "canaries": False})[0]
    assert ("canaries" in right, "alternatives" in asked) == (False, False)
    visit_twice(page, "without-f16")
    assert asked.count("alternatives") == 2
    (warning,) = warnings
    assert warning.endswith(", by kernel multiply (nodes: Mul_0)")


def test_another_schedule_takes_its_place(page: Page, site: Site, backend: str) -> None:
    """For a fault of the one source alone."""
    warnings = open_anew(page, site, f"other-{backend}", backend)
    page.evaluate(DAMAGE, FAULTS["factor"][backend])
    visit_twice(page, "other-schedule")
    (warning,) = warnings
    assert warning.endswith(", by kernel multiply (nodes: Mul_0)")


def test_it_takes_its_place_on_a_device_after_a_loss_too(page: Page, site: Site, backend: str) -> None:
    """Where the device before was right; a third one begins with it."""
    open_anew(page, site, f"other-{backend}", backend)
    page.evaluate(DAMAGE, FAULTS["factor"][backend])
    script = """
      faulty = false;
      const model = await bundle.load({ backend: argument, worker: false, canaries: 'all' });
      const found = [];
      for (let device = 0; device < 3; device++) {
        found.push([await head(model, 2), model.info().canaries.failed.map(({ action }) => action)]);
        faulty = true;
        lose(model);
      }
      await model.dispose();
      return found;
    """
    actions = [[], ["other-schedule"], ["other-schedule"]]
    assert value(page, script, backend) == [[expected(2), own] for own in actions]


def test_it_takes_its_place_after_a_hundred_runs_too(page: Page, site: Site, backend: str) -> None:
    """The shader that is compiled first is wrong at its launch 102, when kernels are tried once more."""
    open_anew(page, site, f"other-{backend}", backend)
    script = """
      const { breakDevice } = await import('./broken_device.js');
      const broken = breakDevice('later', { right: 101, kernel: 0 });
      try {
        const model = await bundle.load({ backend: argument, worker: false, canaries: 'all' });
        for (let i = 0; i < 100; i++) await head(model, 2);
        const until = performance.now() + 20_000;
        while (!model.info().canaries.failed.length && performance.now() < until)
          await new Promise((resolve) => setTimeout(resolve, 20));
        const { failed } = model.info().canaries;
        const last = await head(model, 2);
        await model.dispose();
        return { last, actions: failed.map(({ action }) => action) };
      } finally {
        broken.mend();
      }
    """
    assert value(page, script, backend) == {"last": expected(2), "actions": ["other-schedule"]}


def test_where_that_is_wrong_too_the_backend_is_given_up(page: Page, site: Site) -> None:
    open_anew(page, site, "wrong-floats", "webgpu")
    refused = outcome(page, LOAD, {"worker": False, "canaries": "all"})
    assert (refused["name"], refused["code"]) == ("UnsupportedError", "wrong-results")


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
