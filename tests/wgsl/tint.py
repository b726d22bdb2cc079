"""WGSL held against Tint, the compiler of Chromium, through the npm package webgpu (Dawn)."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


def complaints(sources: Sequence[str]) -> list[str | None]:
    """Tint's message about each module, None without one. Skips the test where it is not installed."""
    if shutil.which("node") is None or not (ROOT / "node_modules" / "webgpu").is_dir():
        pytest.skip("Tint is not there: npm install brings the package webgpu")
    script = Path(__file__).with_name("validate.mjs")
    command = ["node", str(script)]
    done = subprocess.run(command, input=json.dumps(sources), capture_output=True, text=True, cwd=ROOT, timeout=240)
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    assert len(answers) == len(sources)
    return list(answers)


def assert_valid(sources: Sequence[str]) -> None:
    for source, complaint in zip(sources, complaints(sources), strict=True):
        assert complaint is None, f"{complaint}\n{source}"
