"""The page that compiles models, which the tests of a module share: its compiler takes seconds to start."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from compile_page import built_page
from compile_page_steps import open_site, serve_page
from playwright.sync_api import Page
from server import Site


@pytest.fixture(scope="session")
def site_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_page(tmp_path_factory)


@pytest.fixture(scope="module")
def site(site_folder: Path) -> Iterator[Site]:
    with serve_page(site_folder) as served:
        yield served


@pytest.fixture
def opened(page: Page, site: Site) -> Page:
    return open_site(page, site)
