"""The folder with which a page compiles models, built once for all processes of a run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from webnn_compile.compile_page.build_page import build_page
from webnn_compile.compile_page.downloads import Downloads
from webnn_compile.errors import InputError
from webnn_compile.system.cache import usual_folder

ROOT = Path(__file__).resolve().parent.parent
DEMO = Path("build/demo/compile")
"""The page of `make demo`."""
NUMPY = "WEBNN_COMPILE_NUMPY"
"""The variable with the path of NumPy's wheel, where the network does not have it."""
LONGEST = 600
"""Seconds in which another process has built it: downloads are 20 MB."""


def downloads() -> Downloads:
    """The downloads that the command keeps."""
    numpy = os.environ.get(NUMPY)
    return Downloads(usual_folder() / "page", Path(numpy) if numpy else None)


def built_page(folders: pytest.TempPathFactory) -> Path:
    """The folder, which no test changes. Skips the test where downloads or Node are missing."""
    base = folders.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "compile-page"
    try:
        shared.mkdir()
    except FileExistsError:
        outcome = _wait(shared)
    else:
        outcome = _build(shared)
    if outcome.get("missing"):
        pytest.skip(outcome["missing"])
    assert "failed" not in outcome, outcome["failed"]
    return shared / "page"


def _build(shared: Path) -> dict[str, str]:
    outcome = {"failed": "the process that built the page ended"}
    try:
        if _is_newer_than_its_sources():
            shutil.copytree(ROOT / DEMO, shared / "page")
        else:
            build_page(shared / "page", downloads(), lambda _: None)
        outcome = {}
    except InputError as error:
        outcome = {"missing": f"the page cannot be built: {error}"}
    except Exception as error:
        outcome = {"failed": f"the page cannot be built: {error}"}
    finally:
        # Renamed, so that nobody reads half of it.
        (shared / "outcome.new").write_text(json.dumps(outcome))
        (shared / "outcome.new").rename(shared / "outcome.json")
    return outcome


def _is_newer_than_its_sources() -> bool:
    """Whether `make demo` has built the page of this tree. `test_build_page` builds one more, which is equal."""
    command = ["make", "--question", "--silent", (DEMO / "files.json").as_posix()]
    return shutil.which("make") is not None and subprocess.run(command, cwd=ROOT, capture_output=True).returncode == 0


def _wait(shared: Path) -> dict[str, str]:
    for _ in range(10 * LONGEST):
        if (shared / "outcome.json").is_file():
            found: dict[str, str] = json.loads((shared / "outcome.json").read_text())
            return found
        time.sleep(0.1)
    return {"failed": f"another process has not built the page in {LONGEST} s"}
