"""Programs of node_modules, for tests of the JavaScript runtime."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def need(program: str) -> Path:
    """A program of node_modules, or node itself; skips where it is missing, and fails where CI=true."""
    node = shutil.which("node")
    path = Path(node or "node") if program == "node" else ROOT / "node_modules" / ".bin" / program
    if node is None or not path.exists():
        message = f"no {program}: install Node.js 20 or later and run `npm install` in the repository"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    return path
