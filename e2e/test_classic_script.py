"""A bundle as a classic script: in pages under a strict policy, in classic workers of a page's own, in an extension."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx
import pytest
from compiled import PAGES, compile_site
from device_artifacts import tiny_device_artifact
from devices import need_backend
from harness import RUN, open_page, outcome
from parallel_model import parallel_model
from parallel_site import run
from playwright.sync_api import Page, Playwright, expect
from server import ISOLATION, STRICT_CSP, Site, serve
from shared_pages import SharedPages, need_browser
from tiny_artifact import tiny_weights
from webnn_compile.bundle import Packaging, write_bundle
from webnn_compile.rpc.browsers import CHROMIUM_FLAGS, find_executable

IIFE = Packaging("iife")
ONES = [1] * 1024


def expected(slope: int) -> list[float]:
    w, c = tiny_weights(1024)
    return [max(0, value) for value in (w + slope * c).tolist()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("classic")
    shutil.copytree(PAGES, folder, dirs_exist_ok=True)
    write_bundle(tiny_device_artifact("webgl", "wasm"), folder / "bundle", shard_bytes=5000, packaging=IIFE)
    return folder


@pytest.fixture
def site(folder: Path) -> Iterator[Site]:
    with serve(folder, prefix="app", headers={"Content-Security-Policy": STRICT_CSP}) as served:
        yield served


@pytest.mark.parametrize(("backend", "slope"), [("wasm", 1), ("webgl", 2)])
@pytest.mark.parametrize("worker", [True, False])
def test_in_a_page_under_a_strict_policy(page: Page, site: Site, backend: str, slope: int, worker: bool) -> None:
    """Its worker runs the same script."""
    open_page(page, site, "classic.html")
    need_backend(page, backend)
    result = outcome(page, RUN, {"options": {"backend": backend, "worker": worker}, "values": ONES})["value"]
    assert result["output"] == expected(slope)
    assert (result["info"]["backend"], result["info"]["worker"]) == (backend, worker)
    assert page.evaluate("bundle === window.tiny && new bundle.RunError('trap', 'x') instanceof bundle.ModelError")
    assert all(path.startswith("/app/") for path in site.requests if path != "/favicon.ico")


def test_the_bundles_own_page(page: Page, site: Site) -> None:
    page.goto(f"{site.url}bundle/")
    page.get_by_text("Ready, on ").wait_for()
    page.click("#run")
    expect(page.locator("#status")).to_contain_text("Done, on ")


def in_worker(page: Page, options: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = page.evaluate(
        """(given) => new Promise((resolve, reject) => {
          const worker = new Worker('./classic_worker.js');
          worker.onerror = (event) => reject(new Error(event.message));
          worker.onmessage = ({ data }) => resolve(data);
          worker.postMessage(given);
        })""",
        {"options": options, "values": ONES},
    )
    return answer


def test_in_a_classic_worker_of_ones_own(page: Page, site: Site) -> None:
    open_page(page, site, "classic.html")
    answer = in_worker(page, {"base": "bundle", "backend": "wasm"})
    assert answer["output"] == expected(1)
    assert answer["info"]["worker"] is False
    assert "DownloadError: the server answered 404" in in_worker(page, {})["error"]
    assert in_worker(page, {"base": "http://["})["error"].startswith("TypeError: base: expected the URL of a folder")
    assert 'load has no option "bace"' in in_worker(page, {"bace": "x"})["error"]


@pytest.mark.fresh_page
def test_in_a_service_worker(page: Page, site: Site) -> None:
    open_page(page, site, "classic.html")
    answer = page.evaluate(
        """async (given) => {
          const registration = await navigator.serviceWorker.register('./classic_worker.js');
          const worker = registration.installing ?? registration.waiting ?? registration.active;
          const { port1, port2 } = new MessageChannel();
          const answer = new Promise((resolve) => (port1.onmessage = ({ data }) => resolve(data)));
          worker.postMessage(given, [port2]);
          return answer.finally(() => registration.unregister());
        }""",
        {"options": {"base": "bundle/", "backend": "wasm"}, "values": ONES},
    )
    assert answer["output"] == expected(1)
    assert answer["info"]["worker"] is False


def test_a_script_of_another_origin(page: Page, folder: Path) -> None:
    """Its worker is a blob's, and files say that others may read them."""
    with serve(folder, headers={"Access-Control-Allow-Origin": "*"}) as other, serve(folder) as site:
        page.goto(site.url + "bundles.html?none")
        page.evaluate(
            """(src) => new Promise((resolve, reject) => {
              const script = Object.assign(document.createElement('script'), { src, onload: resolve, onerror: reject });
              document.head.append(script);
            })""",
            f"{other.url}bundle/model.js",
        )
        result = page.evaluate(
            """async (values) => {
              const model = await tiny.load({ backend: 'wasm' });
              const { output } = await model.run({ input: Float32Array.from(values) });
              const { worker } = model.info();
              await model.dispose();
              return { worker, output: [...output] };
            }""",
            ONES,
        )
    assert result == {"worker": True, "output": expected(1)}


def test_threads(page: Page, tmp_path: Path) -> None:
    onnx.save(parallel_model(), tmp_path / "parallel.onnx")
    options = ("--targets", "wasm", "--format", "iife", "--global-name", "tiny")
    site_folder = compile_site(tmp_path / "parallel.onnx", tmp_path / "site", *options)
    with serve(site_folder, headers=ISOLATION | {"Content-Security-Policy": STRICT_CSP}) as site:
        open_page(page, site, "classic.html")
        info = run(page, {"threads": 3})["info"]
    assert (info["threads"], info["worker"]) == (3, True)


def test_in_an_unpacked_extension(
    playwright: Playwright, shared_pages: SharedPages, folder: Path, tmp_path: Path
) -> None:
    """Chromium alone loads one from a folder; its name there follows from the folder's."""
    need_browser(shared_pages, "chromium")
    extension = tmp_path / "extension"
    shutil.copytree(folder, extension)
    policy = {"extension_pages": "script-src 'self' 'wasm-unsafe-eval'; object-src 'self'"}
    manifest = {"manifest_version": 3, "name": "tiny", "version": "1", "content_security_policy": policy}
    (extension / "manifest.json").write_text(json.dumps(manifest))
    digest = hashlib.sha256(str(extension).encode()).hexdigest()[:32]
    name = "".join(chr(ord("a") + int(digit, 16)) for digit in digest)
    alone = (f"--disable-extensions-except={extension}", f"--load-extension={extension}")
    with playwright.chromium.launch_persistent_context(
        tmp_path / "profile",
        executable_path=find_executable(playwright, "chromium"),
        headless=False,
        args=["--headless=new", *CHROMIUM_FLAGS, *alone],
    ) as context:
        page = context.new_page()
        open_page(page, Site(f"chrome-extension://{name}/"), "classic.html")
        for worker in (True, False):
            result = outcome(page, RUN, {"options": {"backend": "wasm", "worker": worker}, "values": ONES})
            assert result.get("value", result)["output"] == expected(1)
            assert result["value"]["info"]["worker"] is worker
