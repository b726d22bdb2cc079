"""The page of the example: what it says while it loads, a sample that it reads."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from compiled import ROOT
from digits import EXAMPLE, OPTIONS
from playwright.sync_api import Page
from server import Site, serve

WATCH = """() => {
  globalThis.texts = [];
  const note = () => { const status = document.querySelector('#status'); if (status) texts.push(status.textContent); };
  new MutationObserver(note).observe(document, { subtree: true, childList: true, characterData: true });
}"""
"""Every text of the status line into `texts`."""
SIZE = r"[0-9.]+ (bytes|[kM]B)"
SAYS = rf"(Loading the model|Loading the (code|weights): {SIZE} of {SIZE}|"
SAYS += r"Compiling the shaders: \d+ of \d+|Starting the model)?"


@pytest.fixture(scope="module", params=OPTIONS)
def site(
    digits_folder: Path, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Site]:
    """With the whole bundle, and with one for GPUs alone, which runs on software adapters, too."""
    folder = tmp_path_factory.mktemp("demo")
    shutil.copytree(ROOT / "demo-site", folder, dirs_exist_ok=True)
    shutil.copy(EXAMPLE / "samples.json", folder)
    shutil.copytree(digits_folder / request.param / "bundle", folder / "bundle")
    with serve(folder) as served:
        yield served


def test_it_links_to_the_compiler_where_that_was_built(page: Page, site: Site) -> None:
    # The folder has the page's sources, and a built page has this file.
    page.goto(site.url)
    page.wait_for_selector("body[data-state=ready]")
    assert page.is_hidden("#compile a")
    page.route("**/compile/files.json", lambda route: route.fulfill(json={"files": []}))
    page.goto(site.url)
    page.wait_for_selector("#compile a")
    assert page.get_attribute("#compile a", "href") == "compile/"
    page.unroute_all()


@pytest.mark.fresh_page
def test_it_loads_and_reads_a_sample(page: Page, site: Site) -> None:
    page.add_init_script(f"({WATCH})()")
    page.goto(site.url)
    page.wait_for_selector("body[data-state=ready]")
    texts = page.evaluate("texts")
    assert [text for text in texts if not re.fullmatch(SAYS, text)] == []
    on_gpu = not page.locator("#facts").inner_text().split("backend")[1].strip().startswith("wasm")
    assert any(text.startswith("Compiling the shaders: ") for text in texts) == on_gpu
    assert any(text.startswith("Loading the weights: ") for text in texts)
    page.locator("#samples button[data-label='7']").first.click()
    page.wait_for_selector("#result[aria-busy=false]:not(:empty)")
    assert page.inner_text("#result").startswith("7 (")
