"""A bundle in one file: a page from a disk, without a server, and scripts that need nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from compiled import PAGES
from device_artifacts import tiny_device_artifact
from devices import need_backend
from documentation import ROOT, blocks
from harness import RUN, open_page, outcome
from playwright.sync_api import ConsoleMessage, Page, expect
from server import serve
from tiny_artifact import tiny_weights
from webnn_compile.bundle import Packaging, write_bundle

ONES = [1] * 1024
[DOCUMENTED] = [b for b in blocks(ROOT / "docs" / "deploying.md") if b.mark == "run by e2e/test_single_file.py"]
POLICY = f"default-src 'self'; {DOCUMENTED.text.strip()}"


def expected(slope: int) -> list[float]:
    w, c = tiny_weights(1024)
    return [max(0, value) for value in (w + slope * c).tolist()]


def written(folder: Path, form: str) -> Path:
    packaging = Packaging(form, single_file=True)
    write_bundle(tiny_device_artifact("webgl", "wasm"), folder, shard_bytes=5000, packaging=packaging)
    return folder


def test_a_page_from_a_disk(page: Page, tmp_path: Path) -> None:
    """In a worker, under a policy of its own that allows no request; no other file is there."""
    file = tmp_path / "a model.html"
    written(tmp_path / "bundle", "esm").joinpath("index.html").rename(file)
    shutil.rmtree(tmp_path / "bundle")
    said: list[str] = []

    def listen(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            said.append(message.text)

    page.on("console", listen)
    try:
        page.goto(file.as_uri())
        page.get_by_text("Ready, on ").wait_for()
        page.click("#run")
        expect(page.locator("#status")).to_contain_text("Done, on ")
        expect(page.locator("#info")).to_contain_text("as asked for")
        for backend, slope in (("wasm", 1), ("webgl", 2)):
            script = RUN.replace("bundle.", "window.model.", 1)
            options = {"backend": backend}
            given = {"options": options, "values": ONES}
            result = page.evaluate(f"(argument) => (async () => {{ {script} }})()", given)
            assert result["output"] == expected(slope)
            assert result["info"]["worker"] is True
        refused = page.evaluate("fetch('https://example.org/').catch((error) => error.name)")
        assert refused == "TypeError"
    finally:
        page.remove_listener("console", listen)
        page.goto("about:blank")
    assert [text for text in said if "example.org" not in text] == []


@pytest.mark.parametrize(("form", "start"), [("esm", "blank.html"), ("iife", "classic.html")])
def test_a_script_needs_no_other_file(page: Page, tmp_path: Path, form: str, start: str) -> None:
    shutil.copytree(PAGES, tmp_path, dirs_exist_ok=True)
    written(tmp_path / "bundle", form)
    with serve(tmp_path, headers={"Content-Security-Policy": POLICY}) as site:
        open_page(page, site, start)
        for backend, worker, slope in (("wasm", True, 1), ("wasm", False, 1), ("webgl", True, 2)):
            need_backend(page, backend)
            options = {"backend": backend, "worker": worker}
            result = outcome(page, RUN, {"options": options, "values": ONES})
            assert result.get("value", result)["output"] == expected(slope)
            assert result["value"]["info"]["worker"] is worker
        assert {path for path in site.requests if path.startswith("/bundle/")} == {"/bundle/model.js"}


def test_a_script_in_a_page_from_a_disk(page: Page, tmp_path: Path) -> None:
    """One beside it: browsers load no modules there."""
    shutil.copytree(PAGES, tmp_path, dirs_exist_ok=True)
    written(tmp_path / "bundle", "iife")
    page.goto((tmp_path / "classic.html").as_uri())
    page.wait_for_selector("html[data-ready]", state="attached")
    result = outcome(page, RUN, {"options": {"backend": "wasm"}, "values": ONES})
    assert result.get("value", result)["output"] == expected(1)
    assert result["value"]["info"]["worker"] is True
