"""The lock file of the page's packages is what Pyodide's own tool makes, and names no address."""

from __future__ import annotations

import importlib.metadata
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from compile_page import downloads
from webnn_compile.compile_page.downloads import FROM_PYODIDE, LOCK, OURS, packages, read_lock, trim_lock, unpack
from webnn_compile.errors import InputError

OLDEST = (0, 39)
"""The version of pyodide-build that made it. It needs Python 3.12."""


def test_it_names_no_address() -> None:
    assert "://" not in json.dumps(read_lock())


def test_every_package_has_a_file_and_its_hash() -> None:
    found = packages(read_lock())
    assert tuple(p.name for p in found) == OURS
    for package in found:
        assert re.fullmatch(r"[0-9a-f]{64}", package.sha256)
        assert re.fullmatch(r"[\w.-]+\.whl", package.file)
        assert f"-{package.version}-" in package.file


def tool() -> Path:
    """Pyodide's, of this Python. Skips where it is not installed."""
    try:
        version = importlib.metadata.version("pyodide-build")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("pyodide-build is not installed, which needs Python 3.12")
    if tuple(map(int, version.split(".")[:2])) < OLDEST:
        pytest.skip(f"pyodide-build {version} is older than {'.'.join(map(str, OLDEST))}")
    return Path(sys.executable).with_name("pyodide")


def test_it_is_what_the_tool_makes(tmp_path: Path) -> None:
    program = tool()
    (tmp_path / "lock").mkdir()
    try:
        unpack(downloads().pyodide(), (LOCK,), tmp_path / "lock")
        added = [p for p in packages(read_lock()) if p.name not in FROM_PYODIDE]
        wheels = [shutil.copy(downloads().wheel(package), tmp_path) for package in added]
    except InputError as error:
        pytest.skip(f"downloads cannot be had: {error}")
    # onnx needs ml-dtypes, which the page has a stand-in for.
    options = ["--input", tmp_path / "lock" / LOCK, "--output", tmp_path / "made.json", "--ignore-missing-dependencies"]
    command = [program, "lockfile", "add-wheels", *options, *wheels]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert trim_lock(json.loads((tmp_path / "made.json").read_text())) == read_lock()
