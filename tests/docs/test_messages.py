"""Troubleshooting goes by messages that the sources have."""

from __future__ import annotations

import re
from functools import cache

import pytest
from documentation import ROOT, headings

PAGE = (ROOT / "docs" / "troubleshooting.md").read_text()
MESSAGES = [message for title in headings(PAGE).values() for message in re.findall(r"`([^`]*)`", title)]


@cache
def sources() -> str:
    """Without the joints of strings that stand in several lines."""
    folders = (ROOT / "compiler", ROOT / "runtime-js", ROOT / "rpc")
    files = [path for folder in folders for suffix in ("py", "js") for path in folder.rglob(f"*.{suffix}")]
    text = "\n".join(path.read_text() for path in files)
    return re.sub(r"""["'`](?:\s*\+)?\s*\n\s*f?["'`]""", "", text)


@pytest.mark.parametrize("message", MESSAGES)
def test_a_source_has_the_message(message: str) -> None:
    parts = [part for part in message.split("…") if len(part.strip(" :,")) > 2]
    assert re.search(r"[^\n]{0,99}".join(re.escape(part.strip()) for part in parts), sources()), message


def test_shells_take_the_commands_of_messages() -> None:
    """Brackets are patterns of files in zsh, which refuses one that fits none."""
    assert re.findall(r"pip install '?webnn-compile\[", sources())
    assert not re.findall(r"pip install webnn-compile\[.{9}", sources())


@pytest.mark.parametrize("code", sorted(set(re.findall(r"\[([a-z]+(?:, [a-z]+)*)\]$", PAGE, re.M))))
def test_codes_are_those_of_the_runtime(code: str) -> None:
    types = (ROOT / "runtime-js" / "model.d.ts").read_text()
    assert all(f"'{name}'" in types for name in code.split(", "))
