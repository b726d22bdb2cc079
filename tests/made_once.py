"""Folders that tests read and do not change, each made once for all processes of a run."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

LONGEST = 600
"""Seconds in which another process has made a folder: the compile page's downloads are 20 MB."""


def made_once(folders: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """The folder of this name, which does not exist when `make` is called with it; where that skips or fails, so does
    each test that asks for the folder."""
    base = folders.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    try:
        shared.mkdir()
    except FileExistsError:
        outcome = _wait(shared)
    else:
        outcome = _make(shared, make)
    if "skipped" in outcome:
        pytest.skip(outcome["skipped"])
    assert "failed" not in outcome, outcome["failed"]
    return shared / "made"


def _make(shared: Path, make: Callable[[Path], None]) -> dict[str, str]:
    outcome = {"failed": "the process that made it ended"}
    try:
        make(shared / "made")
        outcome = {}
    except pytest.skip.Exception as skipped:
        outcome = {"skipped": str(skipped)}
    except Exception as error:
        outcome = {"failed": f"{shared.name} cannot be made: {error}"}
    finally:
        # Renamed, so that nobody reads half of it.
        (shared / "outcome.new").write_text(json.dumps(outcome))
        (shared / "outcome.new").rename(shared / "outcome.json")
    return outcome


def _wait(shared: Path) -> dict[str, str]:
    for _ in range(10 * LONGEST):
        if (shared / "outcome.json").is_file():
            found: dict[str, str] = json.loads((shared / "outcome.json").read_text())
            return found
        time.sleep(0.1)
    return {"failed": f"another process has not made {shared.name} in {LONGEST} s"}
