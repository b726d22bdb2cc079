"""A bundle behind `webnn-serve`: it runs there, with threads where pages are isolated, and a page loads anew."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from compiled import PAGES
from playwright.sync_api import Page, expect
from tiny_artifact import tiny_artifact
from webnn_compile.bundle import write_bundle
from webnn_compile.serve.serve_folder import Folder, serving
from webnn_compile.serve.watch_folder import watching


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(PAGES, tmp_path / "site")
    write_bundle(tiny_artifact(), tmp_path / "site" / "bundle")
    return tmp_path / "site"


@pytest.mark.parametrize("isolated", [False, True])
def test_a_bundle_runs(page: Page, folder: Path, isolated: bool) -> None:
    with serving(Folder(folder, isolated=isolated), "127.0.0.1", 0) as address:
        page.goto(f"{address}bundles.html?bundle")
        page.wait_for_selector("html[data-ready]", state="attached")
        got = page.evaluate(
            """async () => {
              const model = await bundle.load();
              const { integrity } = model.info();
              const values = await head(model, 1);
              await model.dispose();
              return { integrity, isolated: crossOriginIsolated, values: values.length };
            }"""
        )
        page.goto("about:blank")
    assert got == {"integrity": "sha256", "isolated": isolated, "values": 8}


def test_a_page_loads_anew_when_its_bundle_changes(page: Page, folder: Path) -> None:
    with watching(folder, period=0.1) as changes, serving(Folder(folder, changes=changes), "127.0.0.1", 0) as address:
        page.goto(f"{address}bundle/index.html")
        expect(page).to_have_title("tiny")
        page.wait_for_selector("#model:not([hidden])")
        write_bundle(tiny_artifact(name="other"), folder / "bundle", force=True)
        expect(page).to_have_title("other")
        page.goto("about:blank")
