"""Chromium and Firefox by Playwright, those of the machine or Playwright's own.

`with sync_playwright() as p, launch(p, "chromium") as browser: browser.new_page().goto(url)`
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Playwright

BrowserName = Literal["chromium", "firefox"]
_COMMANDS = {
    "chromium": ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome"),
    "firefox": ("firefox-esr", "firefox"),
}
CHROMIUM_FLAGS = (
    "--no-sandbox",  # containers forbid it; tests open loopback pages only
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-precise-memory-info",
    "--enable-unsafe-swiftshader",  # WebGL and WebGPU in software where there is no GPU
    "--enable-unsafe-webgpu",
)
_FIREFOX_PREFERENCES: dict[str, str | float | bool] = {
    "dom.webgpu.enabled": True,
    "gfx.webgpu.ignore-blocklist": True,
    "webgl.force-enabled": True,
}


class BrowserMissing(Exception):
    """No such browser on this machine; the message says how to get one."""


def find_executable(playwright: Playwright, name: BrowserName) -> str | None:
    """The program that `launch` starts; None for Playwright's own. Raises BrowserMissing."""
    executable = os.environ.get(name.upper())
    if executable is None and Path(getattr(playwright, name).executable_path).exists():
        return None
    if executable is not None and shutil.which(executable) is None:
        raise BrowserMissing(f"{name.upper()}={executable}: there is no such program; give the path of {name}")
    executable = executable or next(filter(None, map(shutil.which, _COMMANDS[name])), None)
    if executable is None:
        raise BrowserMissing(
            f"no {name}: install it, set {name.upper()} to its executable, or run `python -m playwright install {name}`"
        )
    return executable


@contextlib.contextmanager
def launch(playwright: Playwright, name: BrowserName, *, headed: bool = False) -> Iterator[Browser]:
    """One browser, headless unless `headed`, closed at the end of the block.

    The environment variable CHROMIUM or FIREFOX names an executable; else Playwright's own browser where it is
    installed, else one from the PATH. Raises BrowserMissing, and Playwright's Error for one that does not start.
    """
    executable = find_executable(playwright, name)
    own = executable is None
    if name == "chromium":
        # A stock Chromium goes headless by its own flag: Playwright's option would start another executable.
        flags = CHROMIUM_FLAGS if own or headed else ("--headless=new", *CHROMIUM_FLAGS)
        browser = playwright.chromium.launch(executable_path=executable, headless=own and not headed, args=list(flags))
        with contextlib.closing(browser):
            yield browser
        return
    with contextlib.nullcontext(dict(os.environ)) if headed else _display() as environment:
        # A stock Firefox has no patches of Playwright's: it is driven by WebDriver BiDi.
        browser = playwright.firefox.launch(
            channel=None if own else "moz-firefox",
            executable_path=executable,
            headless=not headed,
            firefox_user_prefs=_FIREFOX_PREFERENCES,
            env={**environment},
        )
        with contextlib.closing(browser):
            yield browser


@contextlib.contextmanager
def _display() -> Iterator[dict[str, str]]:
    """An environment with a display: Firefox needs one for WebGL, headless or not. Unchanged where Xvfb is missing."""
    environment = dict(os.environ)
    server = shutil.which("Xvfb")
    if "DISPLAY" in environment or server is None:
        yield environment
        return
    receive, send = os.pipe()
    with subprocess.Popen(
        [server, "-displayfd", str(send), "-nolisten", "tcp"], pass_fds=[send], stderr=subprocess.DEVNULL
    ) as running:
        os.close(send)
        with open(receive) as answer:
            number = answer.readline().strip()
        try:
            yield environment | {"DISPLAY": f":{number}"}
        finally:
            running.terminate()
