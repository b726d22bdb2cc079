"""Files of a bundle before they are on disk, and their names."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Kind = Literal[
    "entry",
    "types",
    "page",
    "runtime",
    "program",
    "wasm",
    "check",
    "weights",
    "labels",
    "tokenizer",
    "licence",
    "isolation",
    "source",
    "library",
]
SIGNATURE = "signature.txt"
"""The bundle's list of files, signed. It is named by no hash: it has that of model.js, which names it."""
STABLE_NAMES = (
    *("model.js", "model.d.ts", "package.json", "index.html"),
    *("_headers", "nginx.conf", "isolate.js", SIGNATURE),
)
BROWSER_ENTRY = "browser.jsx"
"""The entry of a package for bundlers. In development vite before 8 makes one script of a package whose entry ends in
.js or .ts, and leaves behind the files and workers that the package names by URL."""

TEXT = "txt"
"""Suffix of JSON that the runtime reads: bundlers make scripts of .json and leave texts alone; hosts compress both."""

COMPRESSED = (".br", ".gz")
"""Suffixes of files that are others, compressed."""

README_MARKER = "<!-- Written by webnn-compile. -->"
"""First line of a package's README.md: the folder is no bundle where it is missing."""
MARKER = "// A model compiled by webnn-compile."
"""First line of every bundle's model.js."""
_HASHED = re.compile(r"[a-z0-9_]+-([0-9a-f]{12})\.[a-z]+")


@dataclass(frozen=True, slots=True)
class BundleFile:
    """A file and its kind."""

    name: str
    data: bytes = field(repr=False)
    kind: Kind

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


def hashed_file(stem: str, suffix: str, data: bytes, kind: Kind) -> BundleFile:
    """A file named by the hash of its content, so that an HTTP cache never mixes two bundles."""
    return BundleFile(f"{stem}-{_digest(data)}.{suffix}", data, kind)


def is_bundle(folder: Path) -> bool:
    """Whether a folder holds a bundle of this compiler."""
    entry = folder / "model.js"
    if not entry.is_file():
        return False
    with entry.open("rb") as file:
        return file.read(len(MARKER)) == MARKER.encode()


def foreign_files(folder: Path) -> list[str]:
    """Files in a bundle's folder that are not of the bundle: no stable name, and none with the hash of its content."""
    return sorted(path.name for path in folder.iterdir() if not _is_ours(path))


def _is_ours(path: Path) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    if path.name in (*STABLE_NAMES, BROWSER_ENTRY):
        return True
    if path.suffix in COMPRESSED:
        original = path.with_suffix("")
        return original.suffix not in COMPRESSED and original.exists() and _is_ours(original)
    if path.name == "README.md":
        return path.read_bytes().startswith(README_MARKER.encode())
    match = _HASHED.fullmatch(path.name)
    return match is not None and match[1] == _digest(path.read_bytes())


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:12]
