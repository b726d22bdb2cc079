"""A page of these tests with the compiler, which the tests of a module share: it takes seconds to start."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest
from onnx_models import model, node, random
from page_compiler import HEADERS, module_site, open_compiler_page
from playwright.sync_api import Page
from server import Site, serve


@pytest.fixture(scope="session")
def site_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return module_site(tmp_path_factory)


@pytest.fixture(scope="module")
def site(site_folder: Path) -> Iterator[Site]:
    with serve(site_folder, headers=HEADERS) as served:
        yield served


@pytest.fixture
def opened(page: Page, site: Site) -> Page:
    return open_compiler_page(page, site)


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model for tests of how calls begin and end: the page compiles it in less than a second."""
    path = tmp_path_factory.mktemp("small") / "dense.onnx"
    onnx.save(model([node("MatMul", ["x", "w"], ["y"])], {"x": [4, 64]}, ["y"], {"w": random((64, 64))}), path)
    return path
