"""Source trees of the compiler: a folder, or what git has of a revision."""

from __future__ import annotations

import io
import shutil
import subprocess
import tarfile
import tomllib
from pathlib import Path

from webnn_compile.errors import InputError

from .folders import ROOT, WORK

TAKEN = ("pyproject.toml", "compiler", "runtime-js", "rpc")
"""Paths that are checked out of a revision."""


def find_tree(name: str) -> Path:
    """The folder `name`, or the revision of that name in WORK/trees/<hash>. InputError where it is neither."""
    folder = Path(name)
    if not folder.is_dir():
        folder = _check_out(name)
    try:
        placed = tomllib.loads((folder / "pyproject.toml").read_text())["tool"]["setuptools"]["package-dir"]
        complete = all(
            (folder / placed[p] / "__init__.py").is_file() for p in ("webnn_compile", "webnn_compile.runtime_js")
        )
    except (OSError, ValueError, KeyError, TypeError):
        complete = False
    if not complete:
        raise InputError(f"{name!r} is no tree of this compiler: its pyproject.toml places no package webnn_compile")
    return folder.resolve()


def _check_out(revision: str) -> Path:
    output = _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if output is None:
        raise InputError(f"{revision!r} is neither a folder nor a revision of {ROOT}; `git log` lists revisions")
    commit = output.decode().strip()
    folder = WORK / "trees" / commit
    if folder.is_dir():
        return folder
    # No more than the compiler takes: configurations of tools below this tree would disturb them here.
    archive = _git("archive", commit, *TAKEN)
    if archive is None:
        raise InputError(f"git archive {commit} fails in {ROOT}: are objects of that revision missing?")
    unfinished = folder.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(unfinished, filter="data")
    unfinished.rename(folder)
    return folder


def _git(*arguments: str) -> bytes | None:
    """The output of git; None where it fails, or is missing."""
    try:
        done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, check=False)
    except OSError:
        return None
    return None if done.returncode else done.stdout
