"""Helpers of the tests of GPU backends: a site with hand-made bundles, and which browser can run which backend."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from compiled import PAGES
from device_artifacts import LENGTH
from harness import open_page, outcome
from playwright.sync_api import ConsoleMessage, Page
from server import Site
from tiny_artifact import tiny_weights
from webnn_compile.bundle import Artifact, write_bundle

DEVICES = ("webgpu", "webgl")
W, C = tiny_weights(LENGTH)

COUNT_CALLS = """() => {
  globalThis.calls = {};
  const wrap = (type, name, counts = () => true) => {
    const prototype = globalThis[type]?.prototype;
    const own = prototype?.[name];
    if (!own) return;
    prototype[name] = function (...given) {
      if (counts(...given)) calls[name] = (calls[name] ?? 0) + 1;
      return own.apply(this, given);
    };
  };
  for (const type of ['GPUDevice', 'WebGL2RenderingContext'])
    for (const name of Object.getOwnPropertyNames(globalThis[type]?.prototype ?? {}))
      if (name.startsWith('create')) wrap(type, name);
  // In Firefox an empty submit asks whether a buffer is mapped.
  wrap('GPUQueue', 'submit', (buffers) => buffers.length > 0);
  wrap('GPUCommandEncoder', 'beginComputePass');
  wrap('GPUComputePassEncoder', 'dispatchWorkgroups');
  wrap('WebGL2RenderingContext', 'drawArrays');
}"""
"""Into `calls`, by name: what is created on GPUs, submitted and launched."""


COUNT_BYTES = """() => {
  const alive = new Map();
  globalThis.bytesOnDevice = () => [...alive.values()].reduce((sum, bytes) => sum + bytes, 0);
  const bound = {};
  const after = (type, name, then) => {
    const prototype = globalThis[type]?.prototype;
    const own = prototype?.[name];
    if (!own) return;
    prototype[name] = function (...given) {
      const made = own.apply(this, given);
      then.call(this, made, ...given);
      return made;
    };
  };
  after('GPUDevice', 'createBuffer', (buffer, { size }) => alive.set(buffer, size));
  after('GPUDevice', 'createTexture', () => { throw new Error('a texture, whose bytes nothing here counts'); });
  after('GPUBuffer', 'destroy', function () { alive.delete(this); });
  const bind = (_, target, what) => { bound[target] = what; };
  for (const name of ['bindTexture', 'bindBuffer']) after('WebGL2RenderingContext', name, bind);
  const texel = { [WebGL2RenderingContext.RGBA32F]: 16, [WebGL2RenderingContext.RGBA32I]: 16 };
  after('WebGL2RenderingContext', 'texStorage3D', (_, target, levels, format, width, height, depth) =>
    alive.set(bound[target], texel[format] * width * height * depth));
  after('WebGL2RenderingContext', 'bufferData', (_, target, size) => alive.set(bound[target], size));
  for (const name of ['deleteTexture', 'deleteBuffer'])
    after('WebGL2RenderingContext', name, (_, what) => alive.delete(what));
}"""
"""`bytesOnDevice()`: of the buffers and textures that are created from now on and not destroyed."""


GPU = "NVIDIA GeForce RTX 3060"

_PRETEND = """({ name, caveat }) => {
  if (globalThis.GPUAdapter) {
    const info = { vendor: '', architecture: '', device: '', description: name, isFallbackAdapter: false };
    Object.defineProperty(GPUAdapter.prototype, 'info', { get: () => info });
  }
  const { getParameter } = WebGL2RenderingContext.prototype;
  WebGL2RenderingContext.prototype.getParameter = function (what) {
    return [0x1f01, 0x9246].includes(what) ? name : getParameter.call(this, what);
  };
  const { getContext } = OffscreenCanvas.prototype;
  OffscreenCanvas.prototype.getContext = function (kind, options) {
    return caveat && options.failIfMajorPerformanceCaveat ? null : getContext.call(this, kind, options);
  };
}"""
_HERE_AND_IN_WORKERS = f"""(given) => {{
  const pretend = {_PRETEND};
  pretend(given);
  const script = (text) => URL.createObjectURL(new Blob([text], {{ type: 'text/javascript' }}));
  const first = script(`(${{pretend}})(${{JSON.stringify(given)}})`);
  globalThis.Worker = class extends Worker {{
    constructor(url, options) {{
      super(script(`import '${{first}}'; import '${{url}}';`), options);
    }}
  }};
}}"""


def pretend(page: Page, name: str = GPU, *, caveat: bool = False, always: bool = False) -> None:
    """The adapters of WebGPU and WebGL have this name, on the page that is open and in workers that it starts later;
    `always`: on pages opened later instead. `caveat`: WebGL is slow by the browser's own word.

    Most machines that run these tests have software adapters alone, which `auto` passes over.
    """
    given = {"name": name, "caveat": caveat}
    if always:
        page.add_init_script(f"({_HERE_AND_IN_WORKERS})({json.dumps(given)})")
    else:
        page.evaluate(_HERE_AND_IN_WORKERS, given)


def write_site(folder: Path, bundles: Mapping[str, Artifact]) -> Path:
    """`folder` with the pages, and each bundle below its name."""
    shutil.copytree(PAGES, folder, dirs_exist_ok=True)
    for name, artifact in bundles.items():
        write_bundle(artifact, folder / name)
    return folder


def expected(value: float) -> list[float]:
    """The head of what the tiny model makes of an input of `value` everywhere, on a GPU."""
    result: list[float] = (W * value + 2 * C).clip(0)[:8].tolist()
    return result


_PROBES = {
    "webgpu": "navigator.gpu?.requestAdapter().then(Boolean) ?? false",
    "webgl": "new OffscreenCanvas(1, 1).getContext('webgl2') !== null",
}


def has_backend(page: Page, backend: str) -> bool:
    """Whether the browser itself offers it; wasm is everywhere."""
    return backend not in _PROBES or bool(page.evaluate(f"async () => await ({_PROBES[backend]})"))


def need_backend(page: Page, backend: str) -> None:
    """Skips where the browser itself lacks the backend."""
    if not has_backend(page, backend):
        pytest.skip(f"this browser has no {backend} on this machine")


def has_halves(page: Page) -> bool:
    """Whether WebGPU has float16 in the browser."""
    probe = "async () => (await navigator.gpu?.requestAdapter())?.features.has('shader-f16') ?? false"
    return bool(page.evaluate(probe))


def need_halves(page: Page) -> None:
    """Skips where WebGPU lacks float16 in the browser."""
    if not has_halves(page):
        pytest.skip("WebGPU has no shader-f16 in this browser")


def open_bundle(page: Page, site: Site, name: str, backend: str = "wasm") -> None:
    """Open the test page for a bundle; skips where the browser itself lacks the backend."""
    open_page(page, site, f"bundles.html?{name}")
    need_backend(page, backend)
    page.evaluate("() => contexts.splice(0).forEach((gl) => gl.getExtension('WEBGL_lose_context').loseContext())")


def value(page: Page, script: str, argument: Any = None) -> Any:
    """The result of an async function's body; fails where it throws."""
    result = outcome(page, script, argument)
    assert "value" in result, result
    return result["value"]


def open_anew(page: Page, site: Site, name: str, backend: str) -> list[str]:
    """As a first visit; the list has the warnings of the console from now on, without those of WebGL's driver."""
    open_bundle(page, site, name, backend)
    page.evaluate("() => new Promise((done) => { indexedDB.deleteDatabase('webnn-compile').onsuccess = done; })")
    warnings: list[str] = []

    def take(message: ConsoleMessage) -> None:
        if message.type == "warning" and "GL Driver Message" not in message.text:
            warnings.append(message.text)

    page.on("console", take)
    return warnings


HAS_FEATURE = "async (name) => (await navigator.gpu.requestAdapter()).features.has(name)"
