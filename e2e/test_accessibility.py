"""Axe finds no serious fault on pages that people see, in light and dark colours, and none is wider than a phone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest
from axe import check, need_axe
from compile_page import built_page
from compiled import ROOT, compile_site
from digits import EXAMPLE, MODEL
from playwright.sync_api import Browser
from server import Site, serve
from shared_pages import SharedPages, need_browser
from webnn_compile.rpc.start_broker import start_broker

PAGES = {
    "index.html": "body[data-state=ready]",
    "bundle/index.html": "main",
    "report.html": "main",
    "docs/index.html": "main",
    "docs/command-line.html": ".md-typeset__scrollwrap[tabindex]",
    "docs/deploying.html": "main",
}
"""By page the element that is there when it is whole. The first is that of the example."""


@pytest.fixture(scope="module")
def browser(shared_pages: SharedPages) -> Browser:
    """Chromium alone: what axe reads is the same in others."""
    return need_browser(shared_pages, "chromium")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    need_axe()
    folder = tmp_path_factory.mktemp("pages")
    compile_site(MODEL, folder, "--targets", "wasm", "--report", str(folder / "report.html"))
    shutil.copytree(ROOT / "demo-site", folder, dirs_exist_ok=True)
    shutil.copy(EXAMPLE / "samples.json", folder)
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", folder / "docs"]
    subprocess.run(command, cwd=ROOT, check=True, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"})
    with serve(folder) as served:
        yield served


def test_pages_of_a_model_and_the_documentation(browser: Browser, site: Site) -> None:
    check(browser, {site.url + name: whole for name, whole in PAGES.items()})


def test_the_device_page(browser: Browser) -> None:
    with start_broker() as broker:
        check(browser, {broker.page: "main"})


def test_the_page_that_compiles(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> None:
    with serve(built_page(tmp_path_factory)) as page:
        check(browser, {page.url: "body[data-state=ready]"})
