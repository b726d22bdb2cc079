"""Adversity on GPUs, on a compiled model: losses in mid-run, the least limits, no float targets, two models at once."""

from __future__ import annotations

from typing import Any

import pytest
from devices import value
from digits import agrees, open_digits, reference
from harness import outcome
from playwright.sync_api import Page
from server import Site

LOSE_IN_MID_RUN = """({ backend, after }) => {
  // In the next run, behind so many launches: before the run is submitted, or while WebGL still draws.
  globalThis.struck = 0;
  let left = after;
  const strike = (lose) => { if (--left === 0) { struck++; lose(); } };
  if (backend === 'webgpu') {
    const { dispatchWorkgroups } = GPUComputePassEncoder.prototype;
    GPUComputePassEncoder.prototype.dispatchWorkgroups = function (...given) {
      dispatchWorkgroups.apply(this, given);
      strike(() => devices.at(-1).destroy());
    };
  } else {
    const { drawArrays } = WebGL2RenderingContext.prototype;
    WebGL2RenderingContext.prototype.drawArrays = function (...given) {
      drawArrays.apply(this, given);
      strike(() => this.getExtension('WEBGL_lose_context').loseContext());
    };
  }
}"""

LOSE_WHILE_COMPUTING = """(backend) => {
  // When all is submitted and only the results are waited for.
  globalThis.struck = 0;
  const type = backend === 'webgpu' ? GPUBuffer : WebGL2RenderingContext;
  const name = backend === 'webgpu' ? 'mapAsync' : 'fenceSync';
  const own = type.prototype[name];
  type.prototype[name] = function (...given) {
    const result = own.apply(this, given);
    if (struck++ === 0) {
      if (backend === 'webgpu') devices.at(-1).destroy();
      else this.getExtension('WEBGL_lose_context').loseContext();
    }
    return result;
  };
}"""

LEAST = """() => {
  // Of WebGPU's specification, and of WebGL 2's (OpenGL ES 3.0, table 6.28 and later).
  globalThis.beyond = [];
  if (globalThis.GPUAdapter) {
    const least = {
      maxStorageBuffersPerShaderStage: 8, maxStorageBufferBindingSize: 2 ** 27, maxBufferSize: 2 ** 28,
      maxComputeWorkgroupsPerDimension: 65535, maxComputeWorkgroupStorageSize: 16384,
      maxComputeInvocationsPerWorkgroup: 256, maxBindingsPerBindGroup: 1000, maxBindGroups: 4,
    };
    Object.defineProperty(GPUAdapter.prototype, 'limits', { get: () => least });
    Object.defineProperty(GPUAdapter.prototype, 'features', { get: () => new Set() });
    const { requestDevice } = GPUAdapter.prototype;
    GPUAdapter.prototype.requestDevice = function (descriptor = {}) {
      const limits = Object.entries(descriptor.requiredLimits ?? {}).filter(([name, n]) => n > least[name]);
      beyond.push(...limits, ...(descriptor.requiredFeatures ?? []));
      return requestDevice.call(this, descriptor);
    };
  }
  const { prototype } = WebGL2RenderingContext;
  const limits = {
    MAX_TEXTURE_SIZE: 2048, MAX_ARRAY_TEXTURE_LAYERS: 256, MAX_TEXTURE_IMAGE_UNITS: 16, MAX_DRAW_BUFFERS: 4,
    MAX_COLOR_ATTACHMENTS: 4, MAX_COMBINED_TEXTURE_IMAGE_UNITS: 32,
  };
  const by = new Map(Object.entries(limits).map(([name, n]) => [prototype[name], n]));
  const { getParameter, texStorage3D, drawBuffers, activeTexture } = prototype;
  prototype.getParameter = function (name) { return by.get(name) ?? getParameter.call(this, name); };
  prototype.texStorage3D = function (target, levels, format, width, height, depth) {
    if (Math.max(width, height) > 2048 || depth > 256) beyond.push(`texture ${[width, height, depth]}`);
    texStorage3D.call(this, target, levels, format, width, height, depth);
  };
  prototype.drawBuffers = function (buffers) {
    if (buffers.length > 4) beyond.push(`${buffers.length} draw buffers`);
    drawBuffers.call(this, buffers);
  };
  prototype.activeTexture = function (unit) {
    if (unit - this.TEXTURE0 >= 16) beyond.push(`unit ${unit - this.TEXTURE0}`);
    activeTexture.call(this, unit);
  };
}"""


def check(found: list[list[float]]) -> None:
    for logits, expected in zip(found, reference()[: len(found)], strict=True):
        assert agrees(logits, expected)


@pytest.mark.parametrize("after", [1, 7])
def test_a_device_lost_in_mid_run(page: Page, digits_site: Site, backend: str, after: int) -> None:
    """The run is made once more on another device: nobody sees more than that it takes longer."""
    open_digits(page, digits_site, backend)
    script = f"""
      const model = await bundle.load({{ backend: argument.backend, worker: false }});
      const first = await logits(model, 0);
      ({LOSE_IN_MID_RUN})(argument);
      const results = [first, await logits(model, 1), await logits(model, 2)];
      const made = argument.backend === 'webgpu' ? devices.length : contexts.filter((gl) => !gl.isContextLost()).length;
      return {{ results, struck, made, info: model.info() }};
    """
    found = value(page, script, {"backend": backend, "after": after})
    check(found["results"])
    assert (found["struck"], found["info"]["backend"]) == (1, backend)
    assert found["made"] == (2 if backend == "webgpu" else 1)


def test_a_device_lost_while_it_computes(page: Page, digits_site: Site, backend: str) -> None:
    open_digits(page, digits_site, backend)
    script = f"""
      const model = await bundle.load({{ backend: argument, worker: false }});
      const first = await logits(model, 0);
      ({LOSE_WHILE_COMPUTING})(argument);
      return {{ results: [first, await logits(model, 1), await logits(model, 2)], struck }};
    """
    found = value(page, script, backend)
    check(found["results"])
    assert found["struck"] > 1


def test_the_least_limits_of_the_specification(page: Page, digits_site: Site, backend: str) -> None:
    open_digits(page, digits_site, backend)
    page.evaluate(LEAST)
    script = """
      const model = await bundle.load({ backend: argument, worker: false });
      return { results: [await logits(model, 0), await logits(model, 1)], limits: model.info().limits, beyond };
    """
    found = value(page, script, backend)
    check(found["results"])
    assert found["beyond"] == []
    if backend == "webgl":
        assert (found["limits"]["MAX_TEXTURE_SIZE"], found["limits"]["MAX_DRAW_BUFFERS"]) == (2048, 4)


def test_without_float_targets_the_next_backend_runs(page: Page, digits_site: Site) -> None:
    open_digits(page, digits_site, "webgl")
    page.evaluate("""() => {
      Object.defineProperty(Navigator.prototype, 'gpu', { get: () => undefined });
      const { getExtension } = WebGL2RenderingContext.prototype;
      WebGL2RenderingContext.prototype.getExtension = function (name) {
        return name === 'EXT_color_buffer_float' ? null : getExtension.call(this, name);
      };
    }""")
    reason = "WebGL 2 cannot draw into float32 textures here (no EXT_color_buffer_float)"
    refused = outcome(page, "return bundle.load({ backend: 'webgl', worker: false })")
    assert (refused["name"], refused["message"]) == ("UnsupportedError", reason)
    script = "const m = await bundle.load({ worker: false }); return { info: m.info(), results: [await logits(m, 0)] }"
    found: dict[str, Any] = value(page, script)
    check(found["results"])
    assert found["info"]["backend"] == "wasm"
    assert found["info"]["passedOver"][1] == {"backend": "webgl", "reason": reason}


def test_two_models_at_once(page: Page, digits_site: Site, backend: str) -> None:
    """Models of two bundles run in turns, one after the other's end; on WebGL a loss affects both."""
    open_digits(page, digits_site, backend)
    script = """
      const other = await import('./gpus/bundle/model.js');
      const options = { backend: argument, worker: false };
      const alive = count(gpuObjects);
      const [a, b] = await Promise.all([bundle.load(options), other.load(options)]);
      const results = await Promise.all([0, 1, 2, 3].map((i) => logits(i % 2 ? a : b, i)));
      lose(a);
      results.push(...(await Promise.all([logits(a, 4), logits(b, 5)])));
      await a.dispose();
      results.push(await logits(b, 6));
      await b.dispose();
      return { results, alive };
    """
    found = value(page, script, backend)
    check(found["results"])
    assert {name: n for name, n in found["alive"].items() if n} == {}
