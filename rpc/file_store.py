"""Files under the hash of their content, in a folder of the broker's own."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO, BinaryIO

from .messages import Buffer

LARGEST_STORE = 8 * 2**30
"""Bytes; the least recently used file is evicted first."""


class StoreError(Exception):
    """A file that cannot be stored; the message says why."""


class Upload:
    """A file that is being stored: written under a temporary name, so that every stored file is whole."""

    def __init__(self, store: FileStore, sha256: str) -> None:
        self._store, self._sha256 = store, sha256
        self._hash = hashlib.sha256()
        self._size = 0
        self._failed: StoreError | None = None
        self._file: IO[bytes] | None = None

    def write(self, piece: Buffer) -> None:
        """The next bytes; where they cannot be written, `finish` raises."""
        self._hash.update(piece)
        if self._failed is not None:
            return
        try:
            self._store.reserve(len(piece))
            self._size += len(piece)
            if self._file is None:
                self._file = tempfile.NamedTemporaryFile(dir=self._store.folder, delete=False)  # noqa: SIM115
            self._file.write(piece)
        except OSError as error:
            self._failed = StoreError(f"the broker cannot keep the file: {error.strerror}")
        except StoreError as error:
            self._failed = error
        if self._failed is not None:
            self.close()

    def finish(self) -> None:
        """Raises StoreError where the content has another hash, or there is no room for it."""
        try:
            if self._failed is not None:
                raise self._failed
            if self._hash.hexdigest() != self._sha256:
                raise StoreError(f"the file's content has another sha256 than {self._sha256[:80]}")
            if self._file is not None and self._store.missing([self._sha256]):
                self._file.close()
                self._store.keep(self._sha256, Path(self._file.name), self._size)
        except OSError as error:
            raise StoreError(f"the broker cannot keep the file: {error.strerror}") from None
        finally:
            self.close()

    def close(self) -> None:
        """Removes the file unless it was stored."""
        self._store.reserve(-self._size)
        self._size = 0
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
            Path(self._file.name).unlink(missing_ok=True)
            self._file = None


class FileStore:
    """Bounded by `largest` bytes. Not for several threads."""

    def __init__(self, largest: int = LARGEST_STORE) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="webnn-rpc-", ignore_cleanup_errors=True)
        self.folder = Path(self._folder.name)
        self._largest = largest
        self._sizes: dict[str, int] = {}  # in order of use
        self._stored = self._uploading = 0

    def put(self, sha256: str, data: Buffer) -> None:
        """Raises StoreError where the content has another hash, or there is no room for it."""
        upload = self.upload(sha256)
        upload.write(data)
        upload.finish()

    def upload(self, sha256: str) -> Upload:
        """A file whose content comes in pieces."""
        return Upload(self, sha256)

    def reserve(self, size: int) -> None:
        """Room for an upload. Raises StoreError where other uploads leave none."""
        if self._uploading + size > self._largest:
            raise StoreError(f"the file is too large: {self._largest} bytes are kept in all")
        self._uploading += size
        while self._sizes and self._stored + self._uploading > self._largest:
            self._remove(next(iter(self._sizes)))

    def keep(self, sha256: str, file: Path, size: int) -> None:
        """Moves the file to its place. Raises OSError."""
        os.replace(file, self._path(sha256))
        self._sizes[sha256] = size
        self._stored += size

    def open(self, sha256: str) -> BinaryIO | None:
        """The content, None where it is not there. What is open may be evicted and can still be read."""
        if sha256 not in self._sizes:
            return None
        self._sizes[sha256] = self._sizes.pop(sha256)
        return self._path(sha256).open("rb")

    def missing(self, digests: Iterable[str]) -> list[str]:
        return [sha256 for sha256 in digests if sha256 not in self._sizes]

    def close(self) -> None:
        self._folder.cleanup()

    def _path(self, sha256: str) -> Path:
        return self.folder / sha256

    def _remove(self, sha256: str) -> None:
        self._stored -= self._sizes.pop(sha256)
        with contextlib.suppress(OSError):  # Windows keeps a file that is open until the folder goes
            self._path(sha256).unlink()
