"""C compilers of this machine, which also link what LLVM has compiled."""

from __future__ import annotations

import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..errors import InputError, InternalError
from .cache import Cache, key_of

VARIABLE = "CC"
KNOWN = ("cc", "gcc", "clang")
TRIVIAL = "int model(void) { return 0; }\n"


def find_compiler(architecture: str | None = None) -> list[str]:
    """The command of a compiler for the architecture (`platform.machine()`; None is this machine's): what CC says, the
    first of KNOWN, GCC's compiler for another architecture, or the package ziglang. Its program is given as a path.
    Raises InputError where there is none."""
    words = os.environ.get(VARIABLE, "")
    try:
        named = shlex.split(words)
    except ValueError as error:
        raise InputError(f"{VARIABLE}={words}: {error}") from None
    if named and shutil.which(named[0]) is None:
        raise InputError(f"{VARIABLE}={words}: there is no program {named[0]}")
    if named:
        command = [_path(named[0]), *named[1:]]
        made_for = _printed([*command, "-dumpmachine"]).strip()
        if architecture is not None and made_for and made_for.partition("-")[0] != architecture:
            raise InputError(f"{VARIABLE}={words} compiles for {made_for}, not for {architecture}: name one that does")
        return command
    machine = architecture or platform.machine()
    candidates = KNOWN if machine == platform.machine() else (f"{machine}-linux-gnu-gcc",)
    for name in candidates:
        if shutil.which(name):
            return [_path(name)]
    if importlib.util.find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "cc", "-target", f"{machine}-linux-gnu"]
    what, packages = (
        ("C compiler", "gcc or clang")
        if machine == platform.machine()
        else (
            f"C compiler that links for {machine}",
            f"{candidates[0]} (Debian: gcc-{machine.replace('_', '-')}-linux-gnu) or the package ziglang (pip)",
        )
    )
    raise InputError(f"no {what}: install {packages}, or name one in the environment variable {VARIABLE}")


def build_library(
    command: Sequence[str], files: Mapping[str, str | bytes], flags: Sequence[str], cache: Cache
) -> bytes:
    """A shared library of C files and objects, by name, among `files`, made by a compiler's `command`. Raises
    InputError where it does not work, InternalError where it refuses these."""
    whole = [*command, *flags]
    key = key_of(whole, _printed([*command, "--version"]), _processor(), sorted(files.items()))
    kept = cache.get("library", key)
    if kept is not None:
        return kept
    library, refused = _compile(whole, files)
    if library is None:
        trivial, broken = _compile(whole, {"trivial.c": TRIVIAL})
        if trivial is None:
            missing = "OpenMP may be missing (Debian: libomp-dev for clang), or use one thread"
            hint = f"; {missing}" if "-fopenmp" in flags else ""
            raise InputError(f"the C compiler does not work: {shlex.join(whole)}: {broken}{hint}")
        raise InternalError(f"{shlex.join(whole)} refuses the generated code: {refused}")
    cache.put("library", key, library)
    return library


def _path(name: str) -> str:
    return os.path.abspath(shutil.which(name) or name)


def _compile(command: Sequence[str], files: Mapping[str, str | bytes]) -> tuple[bytes | None, str]:
    """The library, and what the compiler says where there is none."""
    with tempfile.TemporaryDirectory() as folder:
        for file, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            (Path(folder) / file).write_bytes(data)
        sources = [file for file in files if file.endswith((".c", ".o"))]
        whole = [*command, "-shared", "-fPIC", *sources, "-o", "library.so", "-lm"]
        done = subprocess.run(whole, cwd=folder, capture_output=True, text=True, check=False)
        library = Path(folder) / "library.so"
        if done.returncode or not library.is_file():
            return None, done.stderr.strip()[:2000] or f"it made no library, with exit status {done.returncode}"
        return library.read_bytes(), ""


def _printed(command: Sequence[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def _processor() -> str:
    """The processor's description, on which code for `-march=native` depends."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    return "\n".join(sorted({line for line in lines if line.startswith(("model", "flags", "Features", "CPU p"))}))
