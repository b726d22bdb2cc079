"""The service worker and the page of docs/deploying.md: a page that runs its model without a network."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from documentation import ROOT, blocks
from playwright.sync_api import Page
from server import serve
from tiny_artifact import tiny_artifact, tiny_weights
from webnn_compile.bundle import write_bundle

MARK = "run by e2e/test_offline.py"
SHOW = """
const { output } = await model.run({ input: new Float32Array(1024).fill(1) });
document.title = JSON.stringify({ first: output[0], cached: model.info().cache.bytes });
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    worker, script = (b.text for b in blocks(ROOT / "docs" / "deploying.md") if b.mark == MARK)
    write_bundle(tiny_artifact(), tmp_path / "bundle", shard_bytes=3000)
    (tmp_path / "offline.js").write_text(worker)
    (tmp_path / "page.js").write_text(script + SHOW)
    (tmp_path / "index.html").write_text(
        '<!DOCTYPE html><title>_</title><script type="module" src="./page.js"></script>'
    )
    shutil.copy(ROOT / "runtime-js" / "bundle_page" / "page.svg", tmp_path / "favicon.ico")
    return tmp_path


@pytest.mark.fresh_page
def test_a_visit_without_a_network(page: Page, folder: Path) -> None:
    weights, bias = tiny_weights(1024)
    first = float(max(weights[0] + bias[0], 0))
    with serve(folder) as site:
        page.goto(site.url)
        page.wait_for_function("document.title.startsWith('{')")
        assert page.evaluate("JSON.parse(document.title)") == {"first": first, "cached": 0}
        # All is kept once the shards are: `load` does not wait for it.
        page.wait_for_function("async () => (await (await import('./bundle/model.js')).cache.size()) > 8192")
        site.faults = {"*": "refuse"}
        for _ in range(2):
            page.goto(site.url)
            page.wait_for_function("document.title.startsWith('{')")
            seen = page.evaluate("JSON.parse(document.title)")
            assert seen["first"] == first
            assert seen["cached"] > 8192
