"""Real models, compiled by the command line into a site with the pages of these tests."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from webnn_compile.cli.command import main

ROOT = Path(__file__).resolve().parent.parent
PAGES = Path(__file__).parent / "pages"
SHARED = Path(os.environ.get("WEBNN_SHARED", ROOT.parent / "shared"))


def compile_site(model: Path, folder: Path, *options: str) -> Path:
    """`folder` with the pages, and the model below bundle/."""
    shutil.copytree(PAGES, folder, dirs_exist_ok=True)
    done = CliRunner().invoke(main, [str(a) for a in (model, "--out", folder / "bundle", *options)])
    assert done.exit_code == 0, done.output
    return folder


def shared_file(path: str) -> Path:
    """A file of the folder `shared` beside the repository; skips where it is absent."""
    file = SHARED / path
    if not file.exists():
        pytest.skip(f"no {path} in {SHARED}: set WEBNN_SHARED to the folder of test models and photographs")
    return file
