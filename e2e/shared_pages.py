"""Browsers and pages that tests of one process share: to start them takes longer than most tests do."""

from __future__ import annotations

import contextlib
import os

import pytest
from playwright.sync_api import Browser, Error, Page, Playwright
from webnn_compile.rpc.browsers import BrowserMissing, BrowserName, launch


class SharedPages:
    """One browser of each name, and one page in each; a browser that has crashed is started anew.

    A test that opens a document on a page leaves nothing of the one before: no object, no worker, no context.
    """

    def __init__(self, playwright: Playwright) -> None:
        self._playwright = playwright
        self._browsers: dict[BrowserName, tuple[Browser, contextlib.ExitStack]] = {}
        self._pages: dict[Browser, Page] = {}

    def browser(self, name: BrowserName) -> Browser:
        """BrowserMissing where this machine has none."""
        if name in self._browsers:
            browser, opened = self._browsers[name]
            if browser.is_connected():
                return browser
            self._pages.pop(browser, None)
            with contextlib.suppress(Error):
                opened.close()
        opened = contextlib.ExitStack()
        browser = opened.enter_context(launch(self._playwright, name))
        self._browsers[name] = browser, opened
        return browser

    def page(self, browser: Browser) -> Page:
        """The page of the tests before, with their last document, or a new one."""
        page = self._pages.get(browser)
        if page is None or page.is_closed():
            page = self._pages[browser] = browser.new_page()
        return page

    def drop(self, browser: Browser) -> None:
        """The next test has a new page."""
        page = self._pages.pop(browser, None)
        if page is not None:
            with contextlib.suppress(Error):
                page.context.close()

    def close(self) -> None:
        for _, opened in self._browsers.values():
            with contextlib.suppress(Error):
                opened.close()


def need_browser(shared: SharedPages, name: BrowserName) -> Browser:
    """Skips where this machine has none, fails where CI=true."""
    try:
        return shared.browser(name)
    except BrowserMissing as error:
        if os.environ.get("CI") == "true":
            pytest.fail(str(error))
        pytest.skip(str(error))
