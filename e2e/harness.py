"""Helpers of the browser tests: they open the test page and collect the answers of its scripts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page
from server import Site
from webnn_compile.rpc.start_broker import Address


def open_page(page: Page, site: Site, path: str = "blank.html") -> None:
    """Open a page of e2e/pages and wait until `bundle` is there."""
    page.goto(site.url + path)
    page.wait_for_selector("html[data-ready]", state="attached")


def join(page: Page, address: Address) -> Page:
    """Open the device page of a broker, and wait until it has joined."""
    page.goto("about:blank")  # an address that differs in its fragment alone would not be opened anew
    page.goto(address.page)
    page.wait_for_selector("body[data-state=joined]", timeout=60_000)
    return page


def outcome(page: Page, script: str, argument: Any = None) -> dict[str, Any]:
    """{value} or {name, code, message} of an async function's body, which sees `argument` and `bundle`."""
    result: dict[str, Any] = page.evaluate(
        f"(argument) => outcome((async () => {{ {script} }})())",
        argument,
    )
    return result


def refusal(page: Page, site: Site, expression: str) -> str:
    """The message of the TypeError with which a run of the bundle refuses the input x."""
    open_page(page, site, "bundles.html?bundle")
    got = outcome(
        page,
        f"""
        const model = await bundle.load({{ backend: 'wasm', worker: false }});
        try {{
          return await model.run({{ x: {expression} }});
        }} finally {{
          await model.dispose();
        }}
        """,
    )
    assert got["name"] == "TypeError"
    message: str = got["message"]
    assert message.startswith('input "x": ')
    return message


BEFORE_WORKERS = """(argument) => {
  const script = (text) => URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));
  const first = script(`(${%s})(${JSON.stringify(argument)})`);
  globalThis.Worker = class extends Worker {
    constructor(url, options) {
      super(script(`import '${first}'; import '${url}';`), options);
    }
  };
}"""
"""Formatted with a function in JavaScript: what each worker does first, with the argument that `evaluate` is given."""

RUN = """
  const model = await bundle.load(argument.options);
  const { output } = await model.run({ input: Float32Array.from(argument.values) });
  const result = { output: [...output], kind: output.constructor.name, info: model.info() };
  await model.dispose();
  return result;
"""
"""Load with `argument.options`, run once on `argument.values`."""


COLLECT_SHADERS = """
  globalThis.shaders = [];
  if (!globalThis.GPUAdapter) return;
  const { createShaderModule } = GPUDevice.prototype;
  GPUDevice.prototype.createShaderModule = function (descriptor) {
    shaders.push(descriptor.code);
    return createShaderModule.call(this, descriptor);
  };
"""
"""Part of a script that a page runs first: `shaders` has what WebGPU compiles. It returns where there is no WebGPU."""


def hide_relaxed_simd(page: Page) -> None:
    """Make the browser say that it has SIMD128 only."""
    page.evaluate(
        """() => {
          const validate = WebAssembly.validate;
          // f32x4.relaxed_madd, and the dots of bytes
          const relaxed = [0x85, 0x92, 0x93].map((code) => [0xfd, code, 0x02].join());
          WebAssembly.validate = (bytes) => !relaxed.some((code) => bytes.join().includes(code)) && validate(bytes);
        }"""
    )


def without_workers(page: Page) -> None:
    """Until the next document the runtime runs models in the page's own thread, where a test sees what it calls: as
    where a browser has no workers."""
    page.evaluate("() => { globalThis.Worker = undefined; }")


def browser_name(page: Page) -> str:
    """chromium or firefox."""
    assert page.context.browser is not None
    return page.context.browser.browser_type.name


def measure_heap(page: Page) -> Callable[[], int]:
    """A function that measures the bytes of the page's heap, array buffers too, without garbage; 0 except in
    Chromium."""
    if browser_name(page) != "chromium":
        return lambda: 0
    session = page.context.new_cdp_session(page)

    def measure() -> int:
        session.send("HeapProfiler.collectGarbage")
        usage = session.send("Runtime.getHeapUsage")
        return int(usage["usedSize"]) + int(usage.get("backingStorageSize", 0))

    return measure


def run_in_worker(page: Page, options: dict[str, Any], inputs: dict[str, list[float]]) -> dict[str, Any]:
    """{outputs, info, workers} of a model that a worker of the page's own loads; `workers` are those started there.

    Skips where that starts one in Firefox, which may hang: runtime-js/worker/start_threads.js.
    """
    if browser_name(page) == "firefox" and (options.get("worker") or options.get("threads", 1) != 1):
        pytest.skip("Firefox may hang where a worker starts a worker: runtime-js/worker/start_threads.js")
    answer: dict[str, Any] = page.evaluate(
        """([options, inputs]) => new Promise((resolve, reject) => {
          const outer = new Worker('./outer_worker.js', { type: 'module' });
          outer.onerror = (event) => reject(new Error(event.message));
          outer.onmessage = ({ data }) => resolve(data);
          outer.postMessage({ options, inputs });
        })""",
        [options, inputs],
    )
    assert "error" not in answer, answer
    return answer
