"""Paths in messages and reports."""

from __future__ import annotations

import os
from pathlib import Path


def printable(path: str | Path) -> str:
    """A path as text, also where its bytes are not valid text."""
    return os.fsencode(path).decode(errors="replace")
