"""Real models, compiled by the command line into a site with the pages of these tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = Path(__file__).parent / "pages"
SHARED = Path(os.environ.get("WEBNN_SHARED", ROOT.parent / "shared"))


def compile_site(model: Path, folder: Path, *options: str) -> Path:
    """`folder` with the pages, and the model below bundle/."""
    shutil.copytree(PAGES, folder, dirs_exist_ok=True)
    command = [Path(sys.executable).with_name("webnn-compile"), model, "--out", folder / "bundle", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def shared_file(path: str) -> Path:
    """A file of the folder `shared` beside the repository; skips where it is absent."""
    file = SHARED / path
    if not file.exists():
        pytest.skip(f"no {path} in {SHARED}: set WEBNN_SHARED to the folder of test models and photographs")
    return file
