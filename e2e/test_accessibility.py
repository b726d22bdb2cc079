"""Pages that people see, in light and dark colours and on a phone: axe finds no serious fault, none is wider than the
screen, and all look as stored in e2e/screenshots. After a change that is meant: pytest --update-golden, then look."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import onnx
import pytest
from check_pages import Seen, check_pages, need_axe
from cli.command import network
from compile_page import built_page
from compiled import ROOT, compile_site
from digits import EXAMPLE, MODEL
from documentation import built_site
from playwright.sync_api import Browser, Page
from server import Site, serve
from shared_pages import SharedPages, need_browser
from webnn_compile.rpc.start_broker import start_broker

PAGES = (
    Seen("example", "index.html", "body[data-state=ready]", "#facts"),
    Seen("bundle", "bundle/index.html", "#model", "#times"),
    Seen("report", "report.html", "main"),
    Seen("docs", "docs/index.html", "main"),
    Seen("", "docs/command-line.html", ".md-typeset__scrollwrap[tabindex]"),
    Seen("", "docs/deploying.html", "main"),
)
"""Below the site."""


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
    shutil.copytree(built_site(tmp_path_factory), folder / "docs")
    with serve(folder) as served:
        yield served


def test_pages_of_a_model_and_the_documentation(browser: Browser, site: Site, update: bool) -> None:
    check_pages(browser, [replace(page, address=site.url + page.address) for page in PAGES], update)


def test_the_device_page(browser: Browser, update: bool) -> None:
    with start_broker() as broker:
        check_pages(browser, [Seen("device", broker.page, "body[data-state=joined]")], update)


def test_the_page_that_compiles(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, update: bool
) -> None:
    """With a model whose batch is open, which waits for its size: all that can be chosen, and nothing measured."""
    onnx.save(network(), tmp_path / "net.onnx")

    def drop(page: Page) -> None:
        page.set_input_files("#files", tmp_path / "net.onnx")
        page.wait_for_selector("body[data-state=described]")
        page.click("#media summary")
        page.get_by_label("Answer", exact=True).select_option("detect=FILE.json")
        page.evaluate("scrollTo(0, 0)")

    with serve(built_page(tmp_path_factory)) as site:
        check_pages(browser, [Seen("compile", site.url, "body[data-state=ready]", prepare=drop)], update)
