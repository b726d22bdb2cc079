"""Files under the hash of their content, in a folder of the broker's own."""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path

from .messages import Buffer

LARGEST_STORE = 8 * 2**30
"""Bytes; the least recently used file is evicted first."""

_SHA256 = re.compile(r"[0-9a-f]{64}")


class StoreError(Exception):
    """A file that cannot be stored; the message says why."""


class FileStore:
    """Bounded by `largest` bytes. Not for several threads."""

    def __init__(self, largest: int = LARGEST_STORE) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="webnn-rpc-")
        self._largest = largest
        self._sizes: dict[str, int] = {}  # in order of use

    def put(self, sha256: str, data: Buffer) -> None:
        """Raises StoreError where the content has another hash, or there is no room for it."""
        if not _SHA256.fullmatch(sha256) or hashlib.sha256(data).hexdigest() != sha256:
            raise StoreError(f"the file's content has another sha256 than {sha256[:80]}")
        size = len(data)
        if size > self._largest:
            raise StoreError(f"a file of {size} bytes, where {self._largest} are kept in all")
        while self._sizes and sum(self._sizes.values()) + size > self._largest:
            self._remove(next(iter(self._sizes)))
        try:
            self._path(sha256).write_bytes(data)
        except OSError as error:
            raise StoreError(f"the broker cannot keep a file of {size} bytes: {error.strerror}") from None
        self._sizes[sha256] = size

    def get(self, sha256: str) -> bytes | None:
        """The content, None where it is not there."""
        if sha256 not in self._sizes:
            return None
        self._sizes[sha256] = self._sizes.pop(sha256)
        return self._path(sha256).read_bytes()

    def missing(self, wanted: Iterable[str]) -> list[str]:
        return [sha256 for sha256 in wanted if sha256 not in self._sizes]

    def close(self) -> None:
        self._folder.cleanup()

    def _path(self, sha256: str) -> Path:
        return Path(self._folder.name) / sha256

    def _remove(self, sha256: str) -> None:
        del self._sizes[sha256]
        self._path(sha256).unlink(missing_ok=True)
