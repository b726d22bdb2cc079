"""Installs the engines of others, in the versions of package.json, the first time that they are needed."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping

from webnn_compile.errors import InputError

from .folders import HERE


def versions() -> Mapping[str, str]:
    """Versions of the packages that are compared."""
    dependencies: Mapping[str, str] = json.loads((HERE / "package.json").read_text())["dependencies"]
    return dependencies


def install() -> None:
    """Into benchmarks/node_modules. InputError where npm is missing or fails."""
    if all(_installed(name) == version for name, version in versions().items()):
        return
    npm = shutil.which("npm")
    if npm is None:
        raise InputError(
            "the other engines come from npm, which is not on the PATH: install Node.js, or measure ours alone"
        )
    command = [npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)
    if done.returncode:
        raise InputError(f"npm ci fails in {HERE}: {done.stderr.strip()[-500:]}")


def _installed(name: str) -> str | None:
    file = HERE / "node_modules" / name / "package.json"
    return json.loads(file.read_text())["version"] if file.exists() else None
