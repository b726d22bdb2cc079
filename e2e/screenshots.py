"""Stored screenshots of pages, and pages compared with them."""

from __future__ import annotations

import io

from compiled import ROOT
from PIL import Image, ImageChops
from playwright.sync_api import Page

FOLDER = ROOT / "e2e" / "screenshots"
STORED = 2
"""Pixels of the page along each side of one that is stored: for people to look at."""

COMPARED = 8
"""Pixels along each side of one that is compared: whole letters, so that another machine's fonts are tolerated."""

CHANNEL = 32
"""Difference of a channel, of 255, from which on a compared pixel differs."""

SHARE = 0.02
"""Share of compared pixels that may differ: a line of text that has moved by its height is more."""


def match_screenshot(page: Page, name: str, volatile: str, update: bool) -> None:
    """Fails where the visible part of the page differs from e2e/screenshots/NAME.webp, or stores it. What the selector
    `volatile` finds, times and counts of the machine, is painted over."""
    masks = [page.locator(volatile)] if volatile else []
    taken = Image.open(io.BytesIO(page.screenshot(animations="disabled", mask=masks, mask_color="#808080")))
    file = FOLDER / f"{name}.webp"
    if update:
        FOLDER.mkdir(exist_ok=True)
        taken.convert("RGB").reduce(STORED).save(file, quality=80, method=6)
        return
    assert file.exists(), f"{file.relative_to(ROOT)} is missing; pytest --update-golden writes it"
    share = differing_share(taken, Image.open(file))
    if share > SHARE:
        beside = ROOT / "build" / "screenshots" / f"{name}.png"
        beside.parent.mkdir(parents=True, exist_ok=True)
        taken.save(beside)
        raise AssertionError(
            f"{share:.1%} of {file.relative_to(ROOT)} differ from what the page shows now, {beside.relative_to(ROOT)}; "
            "after a change that is meant: pytest --update-golden, then look at it"
        )


def differing_share(taken: Image.Image, stored: Image.Image) -> float:
    """Share of pixels that differ, at the resolution of comparison; 1 where the sizes do."""
    expected = stored.convert("RGB").reduce(COMPARED // STORED)
    shown = taken.convert("RGB").reduce(STORED).reduce(COMPARED // STORED)
    if expected.size != shown.size:
        return 1.0
    channels = ImageChops.difference(shown, expected).split()
    largest = channels[0]
    for channel in channels[1:]:
        largest = ImageChops.lighter(largest, channel)
    counts = largest.histogram()
    return sum(counts[CHANNEL:]) / sum(counts)
