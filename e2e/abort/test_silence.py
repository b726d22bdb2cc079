"""`load` ends when nothing arrives any more, and not while anything does."""

from __future__ import annotations

import pytest
from devices import open_bundle, value
from harness import BEFORE_WORKERS, open_page, outcome
from parallel_site import INPUT, compile_parallel_site
from playwright.sync_api import Page
from server import ISOLATION, Fault, Site, serve

SOON = 1500
"""Milliseconds of silence that are enough to be reported, in tests where silence is all that there is."""

NEVER_ANSWERS = (
    BEFORE_WORKERS
    % """(stuck) => {
  const never = () => new Promise(() => {});
  const adapter = { limits: new Proxy({}, { get: () => 2 ** 30 }), features: new Set(), requestDevice: never };
  const requestAdapter = stuck === 'requestAdapter' ? never : async () => adapter;
  Object.defineProperty(navigator, 'gpu', { value: { requestAdapter } });
}"""
)
"""In workers, a WebGPU that never answers a call."""

COMPUTES = (
    BEFORE_WORKERS
    % """(ms) => {
  const { instantiate } = WebAssembly;
  WebAssembly.instantiate = (...given) => {
    for (const end = performance.now() + ms; performance.now() < end; );
    return instantiate(...given);
  };
}"""
)
"""In workers, so many milliseconds of work without a pause."""

TRICKLES = (
    BEFORE_WORKERS
    % """(ms) => {
  const { fetch } = globalThis;
  globalThis.fetch = async (...given) => {
    const response = await fetch(...given);
    const bytes = new Uint8Array(await response.arrayBuffer());
    let sent = 0;
    const body = new ReadableStream({
      async pull(controller) {
        await new Promise((resolve) => setTimeout(resolve, ms));
        const size = Math.ceil(bytes.length / 10);
        if (sent < bytes.length) controller.enqueue(bytes.slice(sent, (sent += size)));
        else controller.close();
      },
    });
    return new Response(body, { headers: response.headers });
  };
}"""
)
"""In workers, files that arrive in ten pieces, so many milliseconds apart."""


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
@pytest.mark.parametrize("fault", ["wait", "silent"])
@pytest.mark.parametrize(
    ("backend", "file"),
    [
        ("wasm", "weights-*.bin"),
        ("wasm", "relaxed-*.wasm"),
        ("webgl", "weights-*.bin"),
        ("webgl", "webgl-*.txt"),
        ("webgpu", "weights-*.bin"),
        ("webgpu", "webgpu-*.txt"),
    ],
)
def test_a_file_that_stalls(page: Page, plain_site: Site, backend: str, file: str, fault: Fault, worker: bool) -> None:
    open_bundle(page, plain_site, "tiny", backend)
    plain_site.faults = {file: fault}
    options = {"backend": backend, "worker": worker, "timeout": SOON}
    refused = outcome(page, "return bundle.load(argument)", options)
    assert (refused["name"], refused["code"]) == ("DownloadError", "stalled")
    assert refused["message"].startswith(f"nothing arrived of {plain_site.url}tiny/{file.split('*')[0]}")
    assert refused["message"].endswith(f" for {SOON / 1000} s: try again, or load with a longer {{ timeout }}")


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
@pytest.mark.parametrize("fault", ["wait", "silent"])
def test_steps_that_stall_fail_no_load(page: Page, plain_site: Site, fault: Fault, worker: bool) -> None:
    open_bundle(page, plain_site, "tiny")
    plain_site.faults = {"steps-*.txt": fault}
    script = "return (await bundle.load(argument)).backend"
    assert value(page, script, {"backend": "wasm", "worker": worker, "timeout": SOON}) == "wasm"


@pytest.mark.parametrize("fault", ["empty", "none", "silent", "html"])
def test_a_worker_that_starts_no_session(page: Page, plain_site: Site, fault: Fault) -> None:
    open_bundle(page, plain_site, "cpu")
    plain_site.faults = {"worker_*.js": fault}
    refused = outcome(page, "return bundle.load({ timeout: argument })", SOON)
    assert (refused["name"], refused["code"]) == ("WorkerError", "start")
    assert refused["message"].startswith("the worker did not start")
    assert "is its script beside model.js" in refused["message"]
    if fault in ("empty", "silent"):
        assert f"(no message within {SOON / 1000} s)" in refused["message"]


@pytest.mark.parametrize("stuck", ["requestAdapter", "requestDevice"])
def test_a_worker_in_which_the_gpu_never_answers(page: Page, plain_site: Site, stuck: str) -> None:
    open_bundle(page, plain_site, "tiny")
    page.evaluate(NEVER_ANSWERS, stuck)
    refused = outcome(page, "return bundle.load({ backend: 'webgpu', timeout: argument })", SOON)
    assert (refused["name"], refused["code"]) == ("WorkerError", "start")
    assert refused["message"] == (
        f"the worker started no session: nothing happened there for {SOON / 1000} s; "
        "load with a longer { timeout } or another { backend }"
    )


def test_a_worker_that_computes_is_not_silent(page: Page, plain_site: Site) -> None:
    open_bundle(page, plain_site, "tiny")
    page.evaluate(COMPUTES, 2 * SOON)
    script = "return (await bundle.load({ backend: 'wasm', timeout: argument })).backend"
    assert value(page, script, SOON) == "wasm"


def test_a_worker_whose_files_trickle_is_not_silent(page: Page, plain_site: Site) -> None:
    """All of them take longer together than the timeout, none stalls."""
    open_bundle(page, plain_site, "tiny")
    page.evaluate(TRICKLES, SOON / 4)
    script = "return (await bundle.load({ backend: 'wasm', timeout: argument })).backend"
    assert value(page, script, SOON) == "wasm"


@pytest.mark.parametrize("fault", ["empty", "silent"])
def test_a_thread_that_starts_nothing(page: Page, tmp_path_factory: pytest.TempPathFactory, fault: Fault) -> None:
    with serve(compile_parallel_site(tmp_path_factory.mktemp("threads")), headers=ISOLATION) as site:
        open_page(page, site)
        site.faults = {"thread-*.js": fault}
        script = (
            INPUT
            + """
          const model = await bundle.load({ threads: 2, timeout: argument });
          const { y } = await model.run(input);
          return [model.info().threads, model.info().threadsReason, y.length > 0];
        """
        )
        reason = f"a worker did not start: no message within {2 * SOON / 1000:g} s"
        assert value(page, script, 2 * SOON) == [1, reason, True]
