"""The runtime's own tests in Node.js, its types and its style."""

from __future__ import annotations

import subprocess
from pathlib import Path

from node_programs import ROOT, need


def run(*command: str | Path) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_units() -> None:
    run(need("node"), "--test", *sorted(Path(__file__).parent.glob("*.test.js")))


def test_types() -> None:
    run(need("tsc"), "-p", ".")


def test_style() -> None:
    run(need("biome"), "check")
