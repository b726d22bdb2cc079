"""Axe finds no serious fault on the pages that people see, in light and in dark colours."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest
from compiled import ROOT, compile_site
from digits import EXAMPLE, MODEL
from playwright.sync_api import Browser
from server import Site, serve

AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
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
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    if not AXE.exists():
        message = "no axe: run `npm install` in the repository"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    folder = tmp_path_factory.mktemp("pages")
    compile_site(MODEL, folder, "--targets", "wasm", "--report", str(folder / "report.html"))
    shutil.copytree(ROOT / "demo-site", folder, dirs_exist_ok=True)
    shutil.copy(EXAMPLE / "samples.json", folder)
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", folder / "docs"]
    subprocess.run(command, cwd=ROOT, check=True, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"})
    with serve(folder) as served:
        yield served


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_faults(browser: Browser, site: Site, scheme: str) -> None:
    axe = AXE.read_text()
    with browser.new_context(color_scheme=scheme) as context:  # type: ignore[arg-type]
        page = context.new_page()
        for name, whole in PAGES.items():
            page.goto(site.url + name)
            page.wait_for_selector(whole)
            page.evaluate(axe)
            faults = page.evaluate("axe.run().then(({ violations }) => violations)")
            serious = [(f["id"], f["nodes"][0]["html"]) for f in faults if f["impact"] in ("serious", "critical")]
            assert serious == [], name
