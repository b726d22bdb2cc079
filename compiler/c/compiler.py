"""The C compiler of this machine."""

from __future__ import annotations

import os
import platform
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


TRIVIAL = "int model(void) { return 0; }\n"


def find_compiler() -> list[str]:
    """The command, its program as a path: what CC says, or the first of KNOWN. Raises InputError where there is
    none."""
    words = os.environ.get(VARIABLE, "")
    try:
        given = shlex.split(words)
    except ValueError as error:
        raise InputError(f"{VARIABLE}={words}: {error}") from None
    if given and shutil.which(given[0]) is None:
        raise InputError(f"{VARIABLE}={words}: there is no program {given[0]}")
    names = [given[0]] if given else [name for name in KNOWN if shutil.which(name)]
    if not names:
        raise InputError(f"no C compiler: install gcc or clang, or name one in the environment variable {VARIABLE}")
    return [os.path.abspath(shutil.which(names[0]) or names[0]), *given[1:]]


def build_library(name: str, files: dict[str, str], flags: Sequence[str], cache: Cache) -> bytes:
    """A shared library of the C file NAME.c among `files`, which are their texts by name, for this machine's processor.
    Raises InputError where there is no compiler that works, InternalError where one refuses the text."""
    command = [*find_compiler(), *FLAGS, *flags]
    key = key_of(command, _printed([*command, "--version"]), _processor(), sorted(files.items()))
    known = cache.get("library", key)
    if known is not None:
        return known
    made, refused = _compile(command, name, files)
    if made is None:
        _, broken = _compile(command, "trivial", {"trivial.c": TRIVIAL})
        if broken:
            hint = "; OpenMP may be missing (Debian: libomp-dev for clang), or use one thread" if flags else ""
            raise InputError(f"the C compiler does not work: {shlex.join(command)}: {broken}{hint}")
        raise InternalError(f"c: {shlex.join(command)} refuses the generated code: {refused}")
    cache.put("library", key, made)
    return made


def _compile(command: Sequence[str], name: str, files: dict[str, str]) -> tuple[bytes | None, str]:
    """The library, and what the compiler says where there is none."""
    with tempfile.TemporaryDirectory() as folder:
        for file, text in files.items():
            (Path(folder) / file).write_text(text)
        whole = [*command, "-shared", "-fPIC", f"{name}.c", "-o", "library.so", "-lm"]
        done = subprocess.run(whole, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            return None, done.stderr.strip()[:2000]
        return (Path(folder) / "library.so").read_bytes(), ""


def _printed(command: Sequence[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def _processor() -> str:
    """What code for `-march=native` depends on."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    return "\n".join(sorted({line for line in lines if line.startswith(("model", "flags", "Features", "CPU p"))}))
