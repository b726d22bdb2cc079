"""Bundles in two places: the model's files on another origin than its script, or all of it on another than the page."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from compiled import PAGES
from device_artifacts import tiny_device_artifact
from documentation import documented_policy
from harness import RUN, open_page, outcome
from parallel_site import compile_parallel_site, run
from playwright.sync_api import Page
from server import ISOLATION, Site, serve
from tiny_artifact import tiny_weights
from webnn_compile.bundle import Packaging, write_bundle

CORS = {"Access-Control-Allow-Origin": "*"}
POLICY = documented_policy("deploying.md", "content-delivery-networks")
VALUES = {"values": [1] * 1024}


def expected() -> list[float]:
    w, c = tiny_weights(1024)
    return [max(0, value) for value in (w + c).tolist()]


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("content")


@pytest.fixture(scope="module")
def network(content: Path) -> Iterator[Site]:
    """The other origin, which any page may read."""
    with serve(content, headers=CORS) as served:
        yield served


def split(folder: Path, content: Path, base: str, form: str) -> Path:
    """A site below `folder` whose model has its files below `content` alone."""
    shutil.copytree(PAGES, folder, dirs_exist_ok=True)
    artifact = tiny_device_artifact("webgl", "wasm")
    files = write_bundle(artifact, folder / "bundle", shard_bytes=5000, packaging=Packaging(form, base_url=base))
    for file in files:
        if file.kind in ("program", "wasm", "weights"):
            (folder / "bundle" / file.name).rename(content / file.name)
    return folder


@pytest.mark.parametrize(("form", "start"), [("esm", "blank.html"), ("iife", "classic.html")])
def test_files_of_the_model_elsewhere(
    page: Page, tmp_path: Path, content: Path, network: Site, form: str, start: str
) -> None:
    """Under a policy that allows these; what was altered on the way is refused."""
    origin = network.url.rstrip("/")
    policy = f"script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src {origin}"
    folder = split(tmp_path, content, network.url, form)
    with serve(folder, headers={"Content-Security-Policy": policy}) as site:
        open_page(page, site, start)
        for worker in (True, False):
            options = {"backend": "wasm", "worker": worker}
            result = outcome(page, RUN, {"options": options, **VALUES})
            assert result.get("value", result)["output"] == expected()
            assert result["value"]["info"]["worker"] is worker
            assert result["value"]["info"]["integrity"] == "sha256"
        network.faults["weights-*"] = "alter"
        refused = outcome(page, RUN, {"options": {"backend": "wasm"}, **VALUES})
        network.faults.clear()
        assert (refused["name"], refused["code"]) == ("IntegrityError", "altered")
        assert f"{network.url}weights-" in refused["message"]


def test_a_server_without_cors_is_named(page: Page, tmp_path: Path) -> None:
    (tmp_path / "content").mkdir()
    with serve(tmp_path / "content") as other:
        folder = split(tmp_path / "site", tmp_path / "content", other.url, "esm")
        with serve(folder) as site:
            open_page(page, site)
            refused = outcome(page, RUN, {"options": {"backend": "wasm"}, **VALUES})
    assert (refused["name"], refused["code"]) == ("DownloadError", "network")
    assert "a server of another origin must send Access-Control-Allow-Origin" in refused["message"]


def elsewhere(folder: Path, other: Site) -> None:
    """The page's script imports the bundle of the other origin."""
    script = folder / "expose.js"
    script.write_text(script.read_text().replace("./bundle/", f"{other.url}bundle/"))


def test_the_whole_bundle_elsewhere(page: Page, tmp_path: Path) -> None:
    """The worker is a blob's, which a policy has to allow."""
    shutil.copytree(PAGES, tmp_path / "site")
    write_bundle(tiny_device_artifact("webgl", "wasm"), tmp_path / "content" / "bundle")
    with serve(tmp_path / "content", headers=CORS) as other:
        elsewhere(tmp_path / "site", other)
        policy = POLICY.replace("https://cdn.example.com", other.url.rstrip("/"))
        with serve(tmp_path / "site", headers={"Content-Security-Policy": policy}) as site:
            open_page(page, site)
            result = outcome(page, RUN, {"options": {"backend": "wasm"}, **VALUES})
            assert result.get("value", result)["output"] == expected()
            assert result["value"]["info"]["worker"] is True
        policy = re.sub("worker-src [^;]*", "worker-src 'self'", policy)
        with serve(tmp_path / "site", headers={"Content-Security-Policy": policy}) as site:
            open_page(page, site)
            refused = outcome(page, RUN, {"options": {"backend": "wasm"}, **VALUES})
            assert (refused["name"], refused["code"]) == ("WorkerError", "start")
            assert "worker-src 'self', for a script of another origin that and blob:" in refused["message"]


def test_threads_of_a_bundle_elsewhere(page: Page, tmp_path: Path) -> None:
    site_folder = compile_parallel_site(tmp_path)
    (tmp_path / "content").mkdir()
    (site_folder / "bundle").rename(tmp_path / "content" / "bundle")
    with serve(tmp_path / "content", headers=CORS) as other:
        elsewhere(site_folder, other)
        with serve(site_folder, headers=ISOLATION) as site:
            open_page(page, site)
            assert run(page, {"threads": 3})["info"]["threads"] == 3
