"""A backend that cannot do the model is refused, and says why; the next one is taken. Never wrong numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from device_artifacts import tiny_device_artifact, tiny_program
from devices import DEVICES, expected, open_bundle, pretend, value, write_site
from harness import outcome
from playwright.sync_api import Page
from server import Site, serve
from webnn_compile.bundle import Artifact, DeviceArtifact
from webnn_compile.program.device_program import DeviceProgram, Launch


def instead(program: DeviceProgram, *, more: bool = False) -> Artifact:
    """The tiny model with just this program, and with the CPU's if `more`."""
    tiny = tiny_device_artifact("wasm")
    return replace(tiny, backends=(DeviceArtifact(program), *(tiny.backends if more else ())))


def broken(backend: str) -> DeviceProgram:
    program = tiny_program(backend)
    multiply, *others = program.kernels
    return replace(program, kernels=(replace(multiply, source=multiply.source.replace("*", "* nothing *")), *others))


def overlapping(backend: str) -> DeviceProgram:
    """The second launch reads and writes one storage."""
    program = tiny_program(backend)
    first, second = program.steps
    assert isinstance(second, Launch)
    return replace(program, steps=(first, replace(second, arguments=(1, 4, 4))))


def wide(backend: str) -> DeviceProgram:
    """A launch as large as WebGPU's specification lets it be."""
    program = tiny_program(backend)
    multiply, *others = program.kernels
    return replace(program, kernels=(replace(multiply, grid=(65535, 1, 1)), *others))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    bundles = {"tiny": tiny_device_artifact("webgpu", "webgl", "wasm"), "wide": instead(wide("webgpu"))}
    bundles["gpus"] = tiny_device_artifact("webgpu", "webgl")
    for backend in DEVICES:
        bundles[f"broken-{backend}"] = instead(broken(backend))
        bundles[f"broken-{backend}-or-wasm"] = instead(broken(backend), more=True)
        bundles[f"overlapping-{backend}"] = instead(overlapping(backend))
    with serve(write_site(tmp_path_factory.mktemp("refusals"), bundles)) as served:
        yield served


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
def test_a_kernel_that_does_not_compile_is_named(page: Page, site: Site, backend: str, worker: bool) -> None:
    open_bundle(page, site, f"broken-{backend}", backend)
    refused = outcome(page, "return bundle.load({ worker: argument })", worker)
    assert (refused["name"], refused["code"]) == ("UnsupportedError", "compile")
    assert "kernel multiply (nodes: Mul_0): " in refused["message"]
    assert "nothing" in refused["message"]  # what the browser's compiler says


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
def test_then_the_next_backend_is_taken(page: Page, site: Site, backend: str, worker: bool) -> None:
    open_bundle(page, site, f"broken-{backend}-or-wasm", backend)
    pretend(page)
    info = value(page, "return (await bundle.load({ worker: argument })).info()", worker)
    assert info["backend"] == "wasm"
    (passed,) = info["passedOver"]
    assert passed["backend"] == backend
    assert "kernel multiply (nodes: Mul_0): " in passed["reason"]


@pytest.mark.fresh_page
def test_own_page_tells_what_was_passed_over(page: Page, site: Site, backend: str) -> None:
    open_bundle(page, site, "tiny", backend)
    pretend(page, always=True)
    page.goto(f"{site.url}broken-{backend}-or-wasm/")
    page.get_by_text("Ready, on wasm.").wait_for()
    assert f"{backend}: " in page.locator("#info").inner_text()
    assert "kernel multiply (nodes: Mul_0): " in page.locator("#info").inner_text()


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
def test_a_launch_that_the_device_refuses_is_named(page: Page, site: Site, backend: str, worker: bool) -> None:
    open_bundle(page, site, f"overlapping-{backend}", backend)
    script = """
      const model = await bundle.load({ worker: argument });
      return [await outcome(head(model, 1)), await outcome(head(model, 1))];
    """
    for refused in value(page, script, worker):
        assert (refused["name"], refused["code"]) == ("RunError", "device")
        assert "kernel add_relu (nodes: Add_1, Relu_2): " in refused["message"]


LIMITS = """(less) => {
  const { get } = Object.getOwnPropertyDescriptor(GPUAdapter.prototype, 'limits');
  const minimum = {
    maxStorageBuffersPerShaderStage: 8, maxStorageBufferBindingSize: 2 ** 27, maxBufferSize: 2 ** 28,
    maxComputeWorkgroupsPerDimension: 65535, maxComputeWorkgroupStorageSize: 16384,
    maxComputeInvocationsPerWorkgroup: 256, ...less,
  };
  Object.defineProperty(GPUAdapter.prototype, 'limits', { get() { get.call(this); return minimum; } });
  globalThis.asked = [];
  const { requestDevice } = GPUAdapter.prototype;
  GPUAdapter.prototype.requestDevice = function (descriptor) {
    asked.push(descriptor.requiredLimits);
    return requestDevice.call(this, descriptor);
  };
}"""


def test_the_least_that_webgpu_has_is_enough(page: Page, site: Site) -> None:
    """And nothing beyond is asked for."""
    open_bundle(page, site, "tiny", "webgpu")
    pretend(page)
    page.evaluate(LIMITS, {})
    script = "const m = await bundle.load({ worker: false }); return [m.backend, await head(m, 1), asked]"
    assert value(page, script) == ["webgpu", expected(1), [{}]]


def test_less_than_the_model_needs_is_refused(page: Page, site: Site) -> None:
    open_bundle(page, site, "wide", "webgpu")
    page.evaluate(LIMITS, {"maxComputeWorkgroupsPerDimension": 65534})
    refused = outcome(page, "return bundle.load({ worker: false })")
    assert (refused["name"], refused["code"]) == ("UnsupportedError", "limits")
    assert refused["message"] == (
        "the model needs maxComputeWorkgroupsPerDimension 65535, this WebGPU adapter has 65534"
    )


WEBGL = {
    "no float targets": (
        """const { getExtension } = WebGL2RenderingContext.prototype;
        WebGL2RenderingContext.prototype.getExtension = function (name) {
          return name === 'EXT_color_buffer_float' ? null : getExtension.call(this, name);
        };""",
        "WebGL 2 cannot draw into float32 textures here (no EXT_color_buffer_float)",
    ),
    "halves in place of floats": (
        """const { texStorage3D } = WebGL2RenderingContext.prototype;
        WebGL2RenderingContext.prototype.texStorage3D = function (target, levels, format, ...size) {
          texStorage3D.call(this, target, levels, format === this.RGBA32F ? this.RGBA16F : format, ...size);
        };""",
        "WebGL 2 draws wrong values into float32 textures here",
    ),
    "small textures": (
        """const { getParameter } = WebGL2RenderingContext.prototype;
        WebGL2RenderingContext.prototype.getParameter = function (name) {
          return name === this.MAX_TEXTURE_SIZE ? 64 : getParameter.call(this, name);
        };""",
        "the model needs MAX_TEXTURE_SIZE 256, WebGL has 64 here",
    ),
    "no context": (
        "OffscreenCanvas.prototype.getContext = () => null;",
        "there is no WebGL 2 here",
    ),
}


@pytest.mark.parametrize("case", WEBGL)
def test_what_webgl_must_have(page: Page, site: Site, case: str) -> None:
    open_bundle(page, site, "tiny", "webgl")
    pretend(page)
    change, reason = WEBGL[case]
    page.evaluate(f"() => {{ {change} }}")
    page.evaluate("() => Object.defineProperty(Navigator.prototype, 'gpu', { get: () => undefined })")
    refused = outcome(page, "return bundle.load({ backend: 'webgl', worker: false })")
    assert (refused["name"], refused["message"]) == ("UnsupportedError", reason)
    assert page.evaluate("contexts.every((gl) => gl.isContextLost())")  # browsers keep few: none is held
    info = value(page, "return (await bundle.load({ worker: false })).info()")
    assert info["backend"] == "wasm"
    assert [p["backend"] for p in info["passedOver"]] == ["webgpu", "webgl"]
    assert info["passedOver"][1]["reason"] == reason


@pytest.mark.parametrize("most", [1, 2, 4])
def test_fewer_targets_take_more_draws(page: Page, site: Site, most: int) -> None:
    open_bundle(page, site, "tiny", "webgl")
    page.evaluate(
        """(most) => {
          const { getParameter } = WebGL2RenderingContext.prototype;
          WebGL2RenderingContext.prototype.getParameter = function (name) {
            return name === this.MAX_DRAW_BUFFERS ? most : getParameter.call(this, name);
          };
        }""",
        most,
    )
    script = """
      const model = await bundle.load({ backend: 'webgl', worker: false });
      return [model.info().limits.MAX_DRAW_BUFFERS, await head(model, 1)];
    """
    assert value(page, script) == [most, expected(1)]


def test_what_a_backend_that_cannot_run_asked_for_is_given_up(page: Page, site: Site) -> None:
    open_bundle(page, site, "gpus", "webgl")
    script = """
      Object.defineProperty(Navigator.prototype, 'gpu', { get: () => undefined });
      const asked = [];
      const { fetch } = globalThis;
      globalThis.fetch = (url, options) => {
        asked.push([String(url), options]);
        return fetch(url, options);
      };
      const model = await bundle.load({ worker: false });
      const given = (part) => asked.filter(([url]) => url.includes(part)).map(([, { signal }]) => signal.aborted);
      return { backend: model.backend, webgpu: given('/webgpu-'), used: given(`/${model.backend}-`) };
    """
    found = value(page, script)
    assert found["webgpu"] == [True]
    assert True not in found["used"]
    assert found["backend"] == "webgl"


def test_where_nothing_runs_all_reasons_are_told(page: Page, site: Site) -> None:
    open_bundle(page, site, "tiny")
    page.evaluate(
        """() => {
          Object.defineProperty(Navigator.prototype, 'gpu', { get: () => undefined });
          OffscreenCanvas.prototype.getContext = () => null;
          WebAssembly.validate = () => false;
        }"""
    )
    refused = outcome(page, "return bundle.load({ worker: false })")
    assert (refused["name"], refused["code"]) == ("UnsupportedError", "backend")
    for part in (
        "webgpu: there is no WebGPU",
        "webgl: there is no WebGL 2",
        "wasm: this browser",
    ):
        assert part in refused["message"]


def test_a_damaged_program_is_told_where_no_other_may_be_tried(page: Page, tmp_path: Path) -> None:
    """In `auto` the next backend is (`test_auto`), but not where the weights, which all read, are missing."""
    with serve(write_site(tmp_path, {"tiny": tiny_device_artifact("webgl", "wasm")})) as site:
        open_bundle(page, site, "tiny", "webgl")
        pretend(page)
        site.faults["webgl-*.txt"] = "alter"
        assert outcome(page, "return bundle.load({ backend: 'webgl' })")["code"] == "altered"
        site.faults["webgl-*.txt"] = "html"
        assert outcome(page, "return bundle.load({ backend: 'webgl' })")["code"] == "html"
        del site.faults["webgl-*.txt"]
        site.faults["weights-*.bin"] = "missing"
        assert outcome(page, "return bundle.load()")["code"] == "http"
        assert not any(path.endswith(".wasm") for path in site.requests)
