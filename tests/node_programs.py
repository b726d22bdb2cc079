"""Programs of node_modules, for tests of the JavaScript runtime."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
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


def parse_modules(folder: Path, names: Sequence[str]) -> None:
    """Fails where Node.js cannot parse one of these files as a module. One process parses all: `node --check` takes one
    file."""
    script = """
      import { readFileSync } from 'node:fs';
      import { SourceTextModule } from 'node:vm';
      for (const name of process.argv.slice(1))
        new SourceTextModule(readFileSync(name, 'utf8'), { identifier: name });
    """
    command = ["node", "--experimental-vm-modules", "--input-type=module", "--eval", script, "--", *names]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
