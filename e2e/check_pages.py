"""Pages as people see them: faults that axe, a checker of accessibility, finds, their width, and their looks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import pytest
from compiled import ROOT
from playwright.sync_api import Browser, Page
from screenshots import match_screenshot

DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}
LOOKS = {"light": ("light", DESKTOP), "dark": ("dark", DESKTOP), "phone": ("light", PHONE)}
LONGEST = 120_000
"""Milliseconds until a page is whole: one starts a compiler."""
AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"


@dataclass(frozen=True, slots=True)
class Seen:
    """A page at `address`, once the selector `whole` finds something visible, and then brought by `prepare` to the
    state that is looked at. `name` is its screenshots'; without one it has none. What the selector `volatile` finds
    differs from visit to visit."""

    name: str
    address: str
    whole: str
    volatile: str = ""
    prepare: Callable[[Page], None] = lambda _: None


def need_axe() -> None:
    """Skips where it is not installed, fails where CI=true."""
    if not AXE.exists():
        message = "no axe: run `npm install` in the repository"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)


def check_pages(browser: Browser, pages: Iterable[Seen], update: bool) -> None:
    """Fails for a serious fault on one of the pages, for one that is wider than the screen, and for one that looks
    otherwise than its stored screenshot, which `update` replaces."""
    axe = AXE.read_text()
    for look, (scheme, size) in LOOKS.items():
        with browser.new_context(color_scheme=scheme, viewport=size) as context:  # type: ignore[arg-type]
            page = context.new_page()
            page.set_default_timeout(LONGEST)
            for seen in pages:
                page.goto(seen.address)
                page.wait_for_selector(seen.whole)
                seen.prepare(page)
                if seen.name:
                    match_screenshot(page, f"{seen.name}-{look}", seen.volatile, update)
                page.evaluate(axe)
                faults = page.evaluate("axe.run().then(({ violations }) => violations)")
                serious = [(f["id"], f["nodes"][0]["html"]) for f in faults if f["impact"] in ("serious", "critical")]
                assert serious == [], (seen.address, look)
                assert page.evaluate("document.documentElement.scrollWidth") <= size["width"], (seen.address, look)
