"""Installations of `make demo HEADLESS=1`: a browser, and nothing that the tests of other targets need."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def installed(folder: Path, *browsers: str) -> list[str]:
    """The packages that .ci/browsers would install on this system, and what it would have Playwright do."""
    shutil.copy(ROOT / ".ci" / "browsers", folder)
    for name in ("packages", "playwright"):
        (folder / name).write_text('#!/bin/sh\necho "$@"\n')
        (folder / name).chmod(0o755)
    done = subprocess.run([folder / "browsers", folder / "playwright", *browsers], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.skipif(os.name != "posix", reason="a script of bash")
def test_one_browser_or_all_that_tests_need(tmp_path: Path) -> None:
    alone, everything = installed(tmp_path, "chromium"), installed(tmp_path)
    assert "chromium" in alone
    assert not [p for p in alone if "firefox" in p or p in ("g++", "qemu-user", "default-jdk-headless", "xvfb")]
    assert {"chromium"} < set(everything)
    assert any("firefox" in p for p in everything)


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
def test_the_demo_in_a_headless_browser_needs_chromium_alone() -> None:
    said = subprocess.run(
        ["make", "--dry-run", "--always-make", "demo", "HEADLESS=1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert ".ci/browsers .venv/bin/playwright chromium\n" in said
    assert ".ci/browsers .venv/bin/playwright\n" not in said
    assert "'.[test]'" not in said
