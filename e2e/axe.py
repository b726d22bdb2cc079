"""Faults that axe, a checker of accessibility, finds in pages."""

from __future__ import annotations

import os
from collections.abc import Mapping

import pytest
from compiled import ROOT
from playwright.sync_api import Browser

DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}
AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"


def need_axe() -> None:
    """Skips where it is not installed, fails where CI=true."""
    if not AXE.exists():
        message = "no axe: run `npm install` in the repository"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)


def check(browser: Browser, pages: Mapping[str, str]) -> None:
    """Fails for a serious fault on one of the pages: by address the element that is there when it is whole."""
    axe = AXE.read_text()
    for scheme, size in (("light", DESKTOP), ("dark", PHONE)):
        with browser.new_context(color_scheme=scheme, viewport=size) as context:  # type: ignore[arg-type]
            page = context.new_page()
            for address, whole in pages.items():
                page.goto(address)
                page.wait_for_selector(whole)
                page.evaluate(axe)
                faults = page.evaluate("axe.run().then(({ violations }) => violations)")
                serious = [(f["id"], f["nodes"][0]["html"]) for f in faults if f["impact"] in ("serious", "critical")]
                assert serious == [], (address, scheme)
                assert page.evaluate("document.documentElement.scrollWidth") <= size["width"], (address, scheme)
