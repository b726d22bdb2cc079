"""The pages of the documentation as the tests read them: blocks of code with their marks, headings, links.

A block of code is run by the tests in tests/docs/ and e2e/test_documented_scripts.py, by its language, unless a comment
stands before it: `<!-- run by FILE -->`, a test that reads the page itself, or `<!-- not run: REASON -->`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest
from made_once import made_once

ROOT = Path(__file__).resolve().parent.parent
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "CHANGELOG.md")
_BLOCK = re.compile(
    r"(?:^ *<!-- (?P<mark>[^\n]*?) -->\n)?^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^ *```$", re.M | re.S
)


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code below the heading with this anchor. `mark` is the comment before it, empty without."""

    page: Path
    anchor: str
    language: str
    text: str
    mark: str

    @property
    def id(self) -> str:
        return f"{self.page.stem}-{self.anchor}-{self.language}"


def blocks(*pages: Path) -> Iterator[Block]:
    """In the order in which they stand; of all pages, or of these."""
    for page in pages or PAGES:
        text = page.read_text()
        for found in _BLOCK.finditer(text):
            anchors = headings(text[: found.start()])
            last = list(anchors)[-1] if anchors else ""
            yield Block(page, last, found["language"], dedent(found["text"]), found["mark"] or "")


def documented_policy(page: str, anchor: str) -> str:
    """The Content Security Policy of a page of docs/, below the heading with this anchor."""
    (found,) = (b.text.strip() for b in blocks(ROOT / "docs" / page) if (b.anchor, b.language) == (anchor, "text"))
    return found


def unmarked(language: str) -> list[Block]:
    """The blocks of a language that no mark excepts."""
    return [block for block in blocks() if block.language == language and not block.mark]


def headings(text: str) -> dict[str, str]:
    """The anchors of a page as GitHub and the site make them, with the headings' text."""
    prose = _BLOCK.sub("", text)
    return {slug(title): title for title in re.findall(r"^#+ (.*)$", prose, re.M)}


def slug(title: str) -> str:
    """The anchor of a heading."""
    return re.sub(r" ", "-", re.sub(r"[^\w\- ]", "", title.strip().lower()))


def links(text: str) -> list[str]:
    """The targets of links and pictures of a page's prose."""
    return re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", _BLOCK.sub("", text)))


def built_site(folders: pytest.TempPathFactory) -> Path:
    """The site of the documentation, built once for all processes of a run; no test changes it."""
    return made_once(folders, "documentation", _build)


def _build(folder: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder]
    # `--quiet` would leave out the warnings, and with them what is strict.
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    )
    assert done.returncode == 0, done.stdout + done.stderr
