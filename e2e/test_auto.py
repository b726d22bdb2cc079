"""Which backend `auto` takes: GPUs, then WebAssembly, then GPUs that are the CPU in software. Adapters are made up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from device_artifacts import tiny_device_artifact
from devices import DEVICES, GPU, C, W, expected, open_bundle, pretend, value, write_site
from harness import open_page, outcome
from playwright.sync_api import Page
from server import Site, serve
from webnn_compile.bundle import Artifact

UNNAMED = "Generic Renderer"
AFTER = "it comes after wasm, and load({ backend }) takes it all the same"

CLOCK = """(ms) => {
  let now = 0;
  performance.now = () => (now += ms);
}"""
"""A clock that goes on by so many milliseconds whenever it is read."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    bundles: dict[str, Artifact] = {"all": tiny_device_artifact(*DEVICES, "wasm")}
    bundles["gpus"] = tiny_device_artifact(*DEVICES)
    bundles |= {f"{backend}-or-wasm": tiny_device_artifact(backend, "wasm") for backend in DEVICES}
    with serve(write_site(tmp_path_factory.mktemp("auto"), bundles)) as served:
        yield served


def load(page: Page, **options: Any) -> dict[str, Any]:
    """`info` of a model that ran."""
    script = """
      const model = await bundle.load({ worker: false, ...argument });
      const info = model.info();
      const found = await head(model, 1);
      await model.dispose();
      return [info, found];
    """
    info, found = value(page, script, options)
    assert isinstance(info, dict)
    assert found == right(info["backend"])
    return info


def right(backend: str) -> list[float]:
    """The tiny model's output for ones; its module for the CPU adds C once."""
    result: list[float] = (W + C).clip(0)[:8].tolist()
    return result if backend == "wasm" else expected(1)


def shaders(site: Site) -> list[str]:
    """Requests for shaders."""
    return [path for path in site.requests if path.rsplit("/", 1)[-1].startswith(("webgpu-", "webgl-"))]


def files_of(site: Site, backend: str) -> list[str]:
    """Requests for files of one backend."""
    return [path for path in site.requests if backend in path.rsplit("/", 1)[-1]]


def test_this_machine(page: Page, site: Site) -> None:
    """A software adapter, where there is one, is passed over; in a worker as on the page."""
    for worker in (True, False):
        open_page(page, site, "bundles.html?all")
        info = load(page, worker=worker)
        names = {passed["backend"]: passed["reason"] for passed in info["passedOver"]}
        assert info["backend"] == "wasm" or not info["software"]
        for reason in names.values():
            assert reason.startswith("the adapter ") or "this browser" in reason or "finds no" in reason


@pytest.mark.parametrize("name", ["google swiftshader", "llvmpipe, or similar", "Microsoft Basic Render Driver"])
def test_software_comes_after_wasm(page: Page, site: Site, backend: str, name: str) -> None:
    open_bundle(page, site, f"{backend}-or-wasm", backend)
    pretend(page, name)
    site.requests.clear()
    info = load(page)
    assert info["backend"] == "wasm"
    assert info["passedOver"] == [{"backend": backend, "reason": f"the adapter is software ({name}): {AFTER}"}]
    assert files_of(site, backend) == []
    assert page.evaluate("contexts.every((gl) => gl.isContextLost())")  # browsers keep few: none is held
    info = load(page, backend=backend)
    assert (info["backend"], info["software"], info["passedOver"]) == (backend, True, [])


def test_a_gpu_is_taken(page: Page, site: Site, backend: str) -> None:
    open_bundle(page, site, f"{backend}-or-wasm", backend)
    pretend(page, GPU)
    info = load(page)
    assert (info["backend"], info["software"], info["passedOver"]) == (backend, False, [])
    assert page.evaluate("contexts.every((gl) => gl.isContextLost())")


def test_webgl_that_is_slow_by_the_browsers_own_word(page: Page, site: Site) -> None:
    open_bundle(page, site, "webgl-or-wasm", "webgl")
    pretend(page, GPU, caveat=True)
    info = load(page)
    assert info["backend"] == "wasm"
    assert info["passedOver"][0]["reason"].startswith(f"the adapter is software ({GPU} (fallback)): ")
    assert load(page, backend="webgl")["software"] is True


def test_both_in_software(page: Page, site: Site) -> None:
    open_bundle(page, site, "all", "webgpu")
    pretend(page, "llvmpipe")
    info = load(page)
    assert (info["backend"], [p["backend"] for p in info["passedOver"]]) == ("wasm", ["webgpu", "webgl"])


def test_software_is_taken_where_there_is_no_wasm(page: Page, site: Site) -> None:
    open_bundle(page, site, "gpus", "webgpu")
    pretend(page, "llvmpipe")
    info = load(page)
    assert (info["backend"], info["software"], info["passedOver"]) == ("webgpu", True, [])


def test_software_is_taken_where_wasm_cannot_run(page: Page, site: Site, backend: str) -> None:
    open_bundle(page, site, f"{backend}-or-wasm", backend)
    pretend(page, "llvmpipe")
    page.evaluate("() => { WebAssembly.validate = () => false; }")
    info = load(page)
    assert (info["backend"], info["software"]) == (backend, True)
    assert [(p["backend"], p["reason"][:12]) for p in info["passedOver"]] == [("wasm", "this browser")]


@pytest.mark.parametrize(("ms", "taken"), [(20, True), (80, False)])
def test_where_the_browser_does_not_say_a_launch_decides(
    page: Page, site: Site, backend: str, ms: int, taken: bool
) -> None:
    open_bundle(page, site, f"{backend}-or-wasm", backend)
    pretend(page, UNNAMED)
    page.evaluate(CLOCK, ms)
    site.requests.clear()
    script = """
      const alive = count(gpuObjects);
      const model = await bundle.load({ worker: false });
      const { backend, passedOver } = model.info();
      const found = await head(model, 1);
      await model.dispose();
      return { backend, passedOver, found, left: Object.values(alive).filter(Boolean) };
    """
    found = value(page, script)
    assert found["backend"] == (backend if taken else "wasm")
    assert found["found"] == right(found["backend"])
    assert (shaders(site) != []) == taken
    slow = f"the adapter ({UNNAMED}) is as slow as software: a launch takes 80 ms, on GPUs below 50: {AFTER}"
    assert found["passedOver"] == ([] if taken else [{"backend": backend, "reason": slow}])
    assert found["left"] == []


def test_a_file_of_one_backend_that_does_not_load(page: Page, site: Site, backend: str) -> None:
    """The next backend is tried where it has no need of the file."""
    open_bundle(page, site, f"{backend}-or-wasm", backend)
    pretend(page, GPU)
    attempt = "return (await bundle.load({ worker: false })).backend"
    try:
        site.faults = {f"{backend}-*.txt": "missing"}
        info = load(page)
        assert info["backend"] == "wasm"
        (passed,) = info["passedOver"]
        assert passed["backend"] == backend
        assert passed["reason"].startswith("the server answered 404 for http")
        for faults, file in (
            ({f"{backend}-*.txt": "missing", "relaxed-*.wasm": "alter"}, f"/{backend}-"),
            ({"weights-*.bin": "missing"}, "/weights-"),
        ):
            site.faults = dict(faults)
            site.requests.clear()
            found = outcome(page, attempt)
            assert (found["name"], found["code"]) == ("DownloadError", "http")
            assert file in found["message"]
            assert any("relaxed-" in r for r in site.requests) == (len(faults) == 2)
    finally:
        site.faults = {}


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
def test_a_script_of_one_backend_that_does_not_load(page: Page, site: Site, backend: str, worker: bool) -> None:
    """The next backend has a script of its own."""
    open_bundle(page, site, f"{backend}-or-wasm", backend)
    pretend(page, GPU)
    attempt = "return bundle.load({ worker: argument })"
    script = "worker" if worker else "backend"
    name, code = ("WorkerError", "start") if worker else ("DownloadError", "network")
    try:
        site.faults = {f"{script}_*.js": "missing"}
        found = outcome(page, attempt, worker)
        assert (found["name"], found["code"]) == (name, code)
        assert worker or f"the script of the backend {backend} did not load" in found["message"]
        open_bundle(page, site, f"{backend}-or-wasm", backend)  # a document may ask for a script only once
        pretend(page, GPU)
        site.faults = {f"{script}_{backend}-*.js": "missing"}
        info = load(page, worker=worker)
        assert (info["backend"], [p["backend"] for p in info["passedOver"]]) == ("wasm", [backend])
    finally:
        site.faults = {}


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
def test_without_webgpu_no_script_of_it_is_fetched(page: Page, site: Site, worker: bool) -> None:
    open_bundle(page, site, "webgpu-or-wasm")
    page.evaluate("() => Object.defineProperty(navigator, 'gpu', { value: undefined })")
    site.requests.clear()
    info = load(page, worker=worker)
    assert (info["backend"], info["passedOver"]) == (
        "wasm",
        [{"backend": "webgpu", "reason": "there is no WebGPU here"}],
    )
    assert files_of(site, "webgpu") == []


def test_a_script_that_never_arrives(page: Page, site: Site) -> None:
    """No other backend is tried: its script would be waited for as long."""
    site.release.clear()
    open_bundle(page, site, "webgl-or-wasm", "webgl")
    pretend(page, GPU)
    attempt = "return bundle.load({ worker: argument, timeout: 400 })"
    try:
        site.faults = {"worker_webgl-*.js": "silent", "backend_webgl-*.js": "silent"}
        found = outcome(page, attempt, False)
        assert (found["name"], found["code"]) == ("DownloadError", "stalled")
        assert "nothing arrived of the script of the backend webgl for 0.4 s" in found["message"]
        found = outcome(page, attempt, True)
        assert (found["name"], found["code"]) == ("WorkerError", "start")
        assert "no message within 0.4 s" in found["message"]
    finally:
        site.release.set()
        site.faults = {}


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
def test_a_load_that_is_aborted_while_an_adapter_is_requested_starts_nothing(
    page: Page, site: Site, worker: bool
) -> None:
    open_bundle(page, site, "webgpu-or-wasm")
    site.requests.clear()
    script = """
      let give;
      const requestAdapter = () => new Promise((resolve) => { give = resolve; });
      Object.defineProperty(navigator, 'gpu', { value: { requestAdapter } });
      const controller = new AbortController();
      const loading = outcome(bundle.load({ worker: argument.worker, signal: controller.signal }));
      controller.abort();
      const { name } = await loading;
      give({ info: { description: argument.name } });
      await new Promise((resolve) => setTimeout(resolve, 300));
      return name;
    """
    assert value(page, script, {"worker": worker, "name": GPU}) == "AbortError"
    assert site.requests == []
