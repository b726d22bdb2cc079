"""The runtime's own tests in Node.js, its types and its style."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(*command: str | Path) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


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


def test_units() -> None:
    run(need("node"), "--test", *sorted(Path(__file__).parent.glob("*.test.js")))


def test_types() -> None:
    run(need("tsc"), "-p", ".")


def test_style() -> None:
    run(need("biome"), "check")
