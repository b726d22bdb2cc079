"""The files of others that the page is built of: pinned, fetched once, checked by their hashes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from http.client import HTTPException
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..errors import InputError

PYODIDE, PYODIDE_SHA256 = "314.0.3", "d7f7d24f8db486c7eda7280f3b0f7517524c8e43e8b086c6ee6ae8016658b484"
"""The version on npm, and its archive."""
LOCK = "pyodide-lock.json"
OURS = ("flatbuffers", "numpy", "onnx", "protobuf", "tflite", "typing-extensions")
"""The packages of the lock file that the compiler needs."""
FROM_PYODIDE = ("numpy",)
"""Packages that PyPI lacks for this platform: they are in Pyodide's own distribution."""


@dataclass(frozen=True, slots=True)
class Package:
    """An entry of the lock file."""

    name: str
    version: str
    file: str
    sha256: str


def read_lock() -> dict[str, Any]:
    """The lock file of the page's packages."""
    lock: dict[str, Any] = json.loads((files(__package__) / LOCK).read_text(encoding="utf-8"))
    return lock


def packages(lock: Mapping[str, Any]) -> list[Package]:
    entries = lock["packages"].values()
    return [Package(e["name"], e["version"], e["file_name"], e["sha256"]) for e in entries]


def trim_lock(lock: Mapping[str, Any]) -> dict[str, Any]:
    """A lock file with our packages alone, whose files are named without an address."""
    kept = {name: lock["packages"][name] for name in OURS}
    named = {name: {**entry, "file_name": entry["file_name"].rpartition("/")[2]} for name, entry in kept.items()}
    return {"info": lock["info"], "packages": named}


class Downloads:
    """A folder of files by their hashes, filled on demand."""

    def __init__(self, folder: Path, numpy: Path | None = None) -> None:
        """`numpy` is used in place of a download. Raises InputError unless it is the pinned wheel."""
        self._folder = folder
        self._given = {} if numpy is None else {"numpy": numpy}

    def pyodide(self) -> Path:
        """npm's archive of Pyodide. Raises InputError."""
        return self._kept(f"pyodide-{PYODIDE}.tgz", PYODIDE_SHA256, self._pack_pyodide)

    def wheel(self, package: Package) -> Path:
        """Raises InputError."""
        path = self._given.get(package.name)
        if path is not None:
            return _checked(path, package)
        if package.name in FROM_PYODIDE:
            return self._kept(package.file, package.sha256, lambda folder: self._fetch(package, folder))
        return self._kept(package.file, package.sha256, lambda folder: _pip(package, folder))

    def _kept(self, name: str, digest: str, fetch: Any) -> Path:
        kept = self._folder / digest[:16] / name
        try:
            if not (kept.is_file() and _hash(kept) == digest):
                kept.parent.mkdir(parents=True, exist_ok=True)
                self._fill(kept, digest, fetch)
        except OSError as error:
            reason = error.strerror or error
            raise InputError(f"cannot keep {name} in {kept.parent}: {reason}; choose another --downloads") from error
        return kept

    def _fill(self, kept: Path, digest: str, fetch: Any) -> None:
        with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
            fetched = Path(folder) / kept.name
            fetch(Path(folder))
            if not fetched.is_file():
                raise InputError(f"{kept.name} was not among what was downloaded; try again")
            if (actual := _hash(fetched)) != digest:
                raise InputError(f"{kept.name} is not the file that is pinned: its sha256 is {actual}, not {digest}")
            fetched.replace(kept)

    def _pack_pyodide(self, folder: Path) -> None:
        if shutil.which("npm") is None:
            raise InputError("npm is not installed, which fetches Pyodide: install Node 20 or newer")
        command = ["npm", "pack", "--silent", "--json", f"pyodide@{PYODIDE}"]
        _run(command, folder, f"npm cannot fetch pyodide {PYODIDE}")

    def _fetch(self, package: Package, folder: Path) -> None:
        address = f"{self._distribution()}{package.file}"
        try:
            with urllib.request.urlopen(address, timeout=60) as response, (folder / package.file).open("wb") as file:
                shutil.copyfileobj(response, file)
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", error)
            raise InputError(
                f"{address} cannot be fetched: {reason}; fetch it elsewhere, and give it by --{package.name} WHEEL"
            ) from None

    def _distribution(self) -> str:
        """The address of the packages that are built with Pyodide, as its loader has it."""
        with tarfile.open(self.pyodide()) as archive:
            loader = archive.extractfile("package/pyodide.mjs")
            text = "" if loader is None else loader.read().decode()
        match = re.search(r"https://[\w./-]+/v\$\{\w+\}/full/", text)
        if match is None:
            raise InputError("Pyodide's loader names no address of its packages: give --numpy WHEEL")
        return re.sub(r"\$\{\w+\}", PYODIDE, match[0])


def unpack(archive: Path, names: Sequence[str], folder: Path) -> None:
    """Files of an npm archive."""
    with tarfile.open(archive) as opened:
        for name in names:
            member = opened.extractfile(f"package/{name}")
            assert member is not None, name
            (folder / name).write_bytes(member.read())


def _checked(path: Path, package: Package) -> Path:
    if not path.is_file():
        raise InputError(f"--{package.name} {path}: there is no such file")
    if (actual := _hash(path)) != package.sha256:
        raise InputError(f"--{package.name} {path} is not {package.file}: its sha256 is {actual}, not {package.sha256}")
    return path


def _pip(package: Package, folder: Path) -> None:
    platform = ["--platform", package.file.removesuffix(".whl").rpartition("-")[2]]
    python = ["--python-version", "3.14", "--implementation", "cp", "--abi", "cp314", "--abi", "abi3", "--abi", "none"]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary", ":all:", *platform, *python, f"{package.name}=={package.version}"]
    _run(command, folder, f"pip cannot fetch {package.name} {package.version}")


def _run(command: Sequence[str], folder: Path, failed: str) -> None:
    """Raises InputError where the program fails, with the reason that it wrote."""
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if ended.returncode:
        reason = _summary(ended.stdout) or _last_line(ended.stderr or ended.stdout)
        raise InputError(f"{failed}: {reason or f'exit code {ended.returncode}'}")


def _summary(output: str) -> str:
    """The summary of an error that npm wrote as JSON."""
    try:
        return str(json.loads(output)["error"]["summary"]).strip()
    except (LookupError, TypeError, ValueError):
        return ""


def _last_line(output: str) -> str:
    lines = [line for line in output.splitlines() if line.strip()]
    return lines[-1].strip() if lines else ""


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        digest = sha256()
        while piece := file.read(2**20):
            digest.update(piece)
    return digest.hexdigest()
