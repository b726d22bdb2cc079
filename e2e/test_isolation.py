"""Isolation, which gives a page its threads: by headers of its server, or by a service worker."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from harness import open_page
from parallel_site import compile_parallel_site, run
from playwright.sync_api import Page
from server import serve


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_parallel_site(tmp_path_factory.mktemp("isolation"))


def test_a_page_that_is_not_isolated_runs_on_one_thread(page: Page, folder: Path) -> None:
    with serve(folder) as site:
        open_page(page, site)
        result = run(page, {"threads": 2})
        assert result["info"]["threads"] == 1
        assert result["info"]["threadsReason"] == (
            "the page is not cross-origin isolated: serve it with the headers Cross-Origin-Opener-Policy: same-origin "
            "and Cross-Origin-Embedder-Policy: require-corp"
        )
        assert result["y"] == run(page, {})["y"]
        assert not any("thread-" in path for path in site.requests)


def nginx_headers(text: str) -> dict[str, str]:
    return dict(re.findall(r"^add_header (\S+) (\S+) always;$", text, re.MULTILINE))


def netlify_headers(text: str) -> dict[str, str]:
    assert text.startswith("/*\n")
    return dict(re.findall(r"^  (\S+): (\S+)$", text, re.MULTILINE))


@pytest.mark.parametrize(("name", "read"), [("_headers", netlify_headers), ("nginx.conf", nginx_headers)])
def test_headers_of_the_bundle_isolate_a_page(page: Page, folder: Path, name: str, read: Any) -> None:
    with serve(folder, headers=read((folder / "bundle" / name).read_text())) as site:
        open_page(page, site)
        assert page.evaluate("crossOriginIsolated") is True
        assert run(page, {"threads": 2})["info"]["threads"] == 2


@pytest.mark.fresh_page
def test_service_worker_isolates_a_page(page: Page, folder: Path) -> None:
    (folder / "isolate.js").write_bytes((folder / "bundle" / "isolate.js").read_bytes())
    with serve(folder) as site:
        page.goto(site.url + "isolated.html")
        page.wait_for_function("() => crossOriginIsolated && document.documentElement.dataset.ready === ''")
        assert run(page, {"threads": 2})["info"]["threads"] == 2
        page.reload()
        page.wait_for_selector("html[data-ready]", state="attached")
        assert page.evaluate("crossOriginIsolated") is True


@pytest.mark.fresh_page
def test_own_page_isolates_itself(page: Page, folder: Path) -> None:
    with serve(folder / "bundle") as site:
        page.goto(site.url)
        page.wait_for_function("() => crossOriginIsolated")
        page.get_by_text("Ready, on wasm.").wait_for()
