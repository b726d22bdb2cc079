"""Serves the demo page, checks in a headless browser that it reads digits rightly (`--headless`), or takes its picture.

python demo-site/show.py build/demo [--port 8000 | --headless | --screenshot docs/demo.png]
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "e2e"))

from server import serve

if TYPE_CHECKING:
    from playwright.sync_api import Page  # serving needs no Playwright

SEVEN = ((0.25, 0.2), (0.75, 0.2), (0.45, 0.85))


def serve_page(folder: Path, port: int) -> None:
    """Until Ctrl-C; another port where this one is taken."""
    with contextlib.ExitStack() as stack:
        try:
            site = stack.enter_context(serve(folder, port))
        except OSError:
            site = stack.enter_context(serve(folder))
        compiles = f", drop a model at {site.url}compile/" if (folder / "compile").is_dir() else ""
        print(f"\n  Draw a digit at {site.url}{compiles} (Ctrl-C ends)\n", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()


def check_page(folder: Path) -> bool:
    """Clicks every sample and draws a seven, prints what the page reads; whether all of it is right."""
    from playwright.sync_api import sync_playwright
    from webnn_compile.rpc.browsers import launch

    with serve(folder) as site, sync_playwright() as playwright, launch(playwright, "chromium") as browser:
        page = browser.new_page()
        page.on("pageerror", lambda error: print(f"error in the page: {error}", file=sys.stderr))
        page.goto(site.url)
        page.wait_for_selector("body:not([data-state=loading])")
        if page.get_attribute("body", "data-state") != "ready":
            print(f"the page did not load: {page.inner_text('#status')}", file=sys.stderr)
            return False
        readings = []
        for sample in page.locator("#samples button").all():
            sample.click()
            readings.append((f"sample of {sample.get_attribute('data-label')}", read(page)))
        page.click("#clear")
        draw(page, SEVEN)
        readings.append(("drawing of 7", read(page)))
        facts = page.inner_text("#facts").replace("\n", " ")

    wrong = [name for name, answer in readings if not answer.startswith(f"{name[-1]} ")]
    for name, answer in readings:
        print(f"{name}: {answer}{'  WRONG' if name in wrong else ''}")
    print(facts)
    return not wrong


def take_screenshot(folder: Path, file: Path) -> None:
    """Writes the picture of the page with a seven that was drawn, in light colours."""
    from playwright.sync_api import sync_playwright
    from webnn_compile.rpc.browsers import launch

    with serve(folder) as site, sync_playwright() as playwright, launch(playwright, "chromium") as browser:
        page = browser.new_page(viewport={"width": 760, "height": 1000}, color_scheme="light")
        page.goto(site.url)
        page.wait_for_selector("body[data-state=ready]")
        draw(page, SEVEN)
        read(page)
        box = page.locator(".draw").bounding_box()
        assert box is not None, "the drawing area is not in the page"
        clip = {"x": 0, "y": 0, "width": 760, "height": box["y"] + box["height"] + 10}
        page.screenshot(path=file, animations="disabled", clip=clip)


def read(page: Page) -> str:
    """The page's answer once it has one, such as `7 (98.3%)`."""
    page.wait_for_selector("#result[aria-busy=false]:not(:empty)")
    return page.inner_text("#result")


def draw(page: Page, points: Sequence[tuple[float, float]]) -> None:
    """One stroke of the mouse; `points` in shares of the pad's sides."""
    box = page.locator("#pad").bounding_box()
    assert box is not None, "the drawing area is not in the page"
    corners = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in points]
    page.mouse.move(*corners[0])
    page.mouse.down()
    for corner in corners[1:]:
        page.mouse.move(*corner, steps=8)
    page.mouse.up()


def main() -> None:
    parser = argparse.ArgumentParser(description="Serves the demo page, checks it, or takes its picture.")
    parser.add_argument("folder", type=Path, help="the page with its bundle")
    parser.add_argument("--port", type=int, default=8000, help="where to serve; another one where it is taken")
    parser.add_argument("--headless", action="store_true", help="read every sample in a headless Chromium instead")
    parser.add_argument("--screenshot", type=Path, help="write a picture of the page in use there (.png) instead")
    options = parser.parse_args()
    if options.screenshot:
        take_screenshot(options.folder, options.screenshot)
        return
    if options.headless:
        sys.exit(0 if check_page(options.folder) else 1)
    serve_page(options.folder, options.port)


if __name__ == "__main__":
    main()
