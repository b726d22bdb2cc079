"""One browser per module, one page per test; a missing browser skips, and fails where CI=true."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from browsers import BrowserMissing, launch
from compiled import PAGES
from devices import DEVICES
from digits import compile_digits
from playwright.sync_api import Browser, Page, Playwright, sync_playwright
from server import Site, serve
from tiny_artifact import tiny_artifact
from webnn_compile.bundle import write_bundle
from webnn_compile.system.cache import FOLDER_VARIABLE


@pytest.fixture(scope="session", autouse=True)
def cache_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The user's cache of compiled kernels is neither read nor written."""
    os.environ[FOLDER_VARIABLE] = str(tmp_path_factory.mktemp("kernels"))


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as running:
        yield running


@pytest.fixture(scope="module", params=["chromium", "firefox"])
def browser(playwright: Playwright, request: pytest.FixtureRequest) -> Iterator[Browser]:
    try:
        opened = launch(playwright, request.param)
        with opened as found:
            yield found
    except BrowserMissing as error:
        if os.environ.get("CI") == "true":
            pytest.fail(str(error))
        pytest.skip(str(error))


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    opened = browser.new_page()
    yield opened
    opened.close()


@pytest.fixture(params=DEVICES)
def backend(request: pytest.FixtureRequest) -> str:
    """Of the GPU backends each."""
    name: str = request.param
    return name


@pytest.fixture(scope="session")
def digits_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with the pages of these tests and the classifier of digits below wasm/ and js/, by its host."""
    return compile_digits(tmp_path_factory.mktemp("hosts"))


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
