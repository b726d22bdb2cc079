"""The C compiler of this machine."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ..errors import InputError, InternalError
from ..system.cache import Cache, key_of

VARIABLE = "CC"
KNOWN = ("cc", "gcc", "clang")
FLAGS = ("-std=c99", "-O3", "-march=native", "-ffp-contract=fast")


def find_compiler() -> list[str]:
    """The command: what CC says, or the first of KNOWN. Raises InputError where there is none."""
    given = shlex.split(os.environ.get(VARIABLE, ""))
    if given and shutil.which(given[0]) is None:
        raise InputError(f"{VARIABLE}={' '.join(given)}: there is no program {given[0]}")
    found = given or [name for name in KNOWN if shutil.which(name)][:1]
    if not found:
        raise InputError(f"no C compiler: install gcc or clang, or name one in the environment variable {VARIABLE}")
    return found


def build_library(name: str, files: dict[str, str], flags: Sequence[str], cache: Cache) -> bytes:
    """A shared library of the C file NAME.c among `files`, which are its text by name. Raises InputError where there is
    no compiler, InternalError where it refuses the text."""
    command = [*find_compiler(), *FLAGS, *flags, "-shared", "-fPIC", f"{name}.c", "-o", "library.so", "-lm"]
    key = key_of(command, _version(command[0]), sorted(files.items()))
    known = cache.get("library", key)
    if known is not None:
        return known
    with tempfile.TemporaryDirectory() as folder:
        for file, text in files.items():
            (Path(folder) / file).write_text(text)
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise InternalError(f"c: {shlex.join(command)} refuses the generated code: {done.stderr.strip()[:2000]}")
        made = (Path(folder) / "library.so").read_bytes()
    cache.put("library", key, made)
    return made


def _version(program: str) -> str:
    return subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
