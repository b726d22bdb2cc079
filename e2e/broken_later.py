"""GPUs that break after the load of a model, in pages and workers."""

from __future__ import annotations

from devices import open_anew, pretend
from playwright.sync_api import Page
from server import Site

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


def open_unbroken(page: Page, site: Site, name: str, backend: str) -> list[str]:
    """As a first visit, on a page with a GPU that may be broken later; the warnings of its console from now on."""
    warnings = open_anew(page, site, name, backend)
    pretend(page)
    page.evaluate(f"() => {{ {BREAK} }}")
    return warnings
