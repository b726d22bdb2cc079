"""Browsers and pages that tests share; a missing browser skips, and fails where CI=true."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from compiled import PAGES
from devices import DEVICES
from digits import compile_digits
from harness import join
from playwright.sync_api import Browser, Page, Playwright, sync_playwright
from server import Site, serve
from shared_pages import SharedPages, need_browser
from tiny_artifact import tiny_artifact
from webnn_compile.bundle import write_bundle
from webnn_compile.rpc.client import Session, connect
from webnn_compile.rpc.start_broker import Address


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as running:
        yield running


@pytest.fixture(scope="session")
def shared_pages(playwright: Playwright) -> Iterator[SharedPages]:
    shared = SharedPages(playwright)
    yield shared
    shared.close()


@pytest.fixture(scope="module", params=["chromium", "firefox"])
def browser(shared_pages: SharedPages, request: pytest.FixtureRequest) -> Browser:
    return need_browser(shared_pages, request.param)


@pytest.fixture
def page(shared_pages: SharedPages, browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """The page of the tests before. A new one for a test with the mark `fresh_page`, which counts what a browser holds
    or leaves something to later documents; and after a test that failed, which may have blocked it."""
    fresh = request.node.get_closest_marker("fresh_page") is not None
    failed = request.session.testsfailed
    if fresh:
        shared_pages.drop(browser)
    yield shared_pages.page(browser)
    if fresh or request.session.testsfailed > failed:
        shared_pages.drop(browser)


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    """Stored screenshots are replaced, not compared with."""
    return bool(request.config.getoption("update_golden"))


@pytest.fixture(params=DEVICES)
def backend(request: pytest.FixtureRequest) -> str:
    """Each of the GPU backends."""
    name: str = request.param
    return name


@pytest.fixture(scope="session")
def digits_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with the pages of these tests and the classifier of digits below whole/ and gpus/."""
    return compile_digits(tmp_path_factory.mktemp("digits"))


@pytest.fixture(scope="module")
def digits_site(digits_folder: Path) -> Iterator[Site]:
    with serve(digits_folder) as served:
        yield served


@pytest.fixture(scope="module")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with the pages of these tests and the tiny model below bundle/."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(PAGES, folder, dirs_exist_ok=True)
    write_bundle(tiny_artifact(), folder / "bundle", shard_bytes=3000)
    return folder


@pytest.fixture
def site(tiny_folder: Path) -> Iterator[Site]:
    with serve(tiny_folder) as served:
        yield served


@pytest.fixture
def tab(page: Page, address: Address) -> Iterator[Page]:
    """A page that has joined the broker of the module, and leaves."""
    yield join(page, address)
    page.goto("about:blank")


@pytest.fixture
def session(address: Address) -> Iterator[Session]:
    with connect(address.page) as made:
        yield made
