"""Results of earlier builds, on disk: pieces of code by a hash of all their inputs.

Any number of processes may use one folder: an entry is written to a temporary file and then renamed, and has a
checksum, so that a reader finds all of it or nothing. An unreadable entry counts as missing; with a read-only folder
nothing is written, and `note` reports it. Entries are executed, so a folder or an entry that other users can write to,
or that belongs to one, is ignored. After every 32 MB that are written, the least recently read entries are deleted
where the folder exceeds its limit.
"""

from __future__ import annotations

import os
import stat
import tempfile
import time
import warnings
import zlib
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path

LIMIT_BYTES = 512 * 2**20
FOLDER_VARIABLE = "WEBNN_COMPILE_CACHE_DIR"

_MAGIC = b"webnn-compile cache 1\n"
_CHECKSUM_BYTES = 32
_SUFFIX = ".entry"
_UNFINISHED = ".unfinished"
_TOUCHED_SECONDS = 3600.0
"""The access time of an entry that is read is updated at most this often; an unfinished file older than this is
deleted."""
_WRITTEN = "written"
"""A file of one byte for each KiB that processes wrote since the last walk over a folder: appending is atomic."""
_PARTS = 16
"""A folder is walked after each of so many parts of its limit: 26,000 entries take up to a second, many times what
compiling one operator does."""


class Cache:
    """Entries by kind ("code", "object", ...) and key. Without a folder they last as long as this object.

    `hits` and `misses` count the first `get` of each entry.
    """

    def __init__(self, folder: Path | None, limit_bytes: int = LIMIT_BYTES) -> None:
        self.folder = folder
        self.hits = 0
        self.misses = 0
        self.note: str | None = None
        self._limit = limit_bytes
        self._memory: dict[str, bytes] = {}
        self._asked: set[str] = set()
        self._written = 0

    def get(self, kind: str, key: str) -> bytes | None:
        """The entry's data, from this process or another; None for a missing or damaged entry."""
        name = f"{kind}-{key}"
        data = self._memory.get(name)
        if data is None and self.folder is not None:
            data = self._read(name)
        if name not in self._asked:
            self._asked.add(name)
            if data is None:
                self.misses += 1
            else:
                self.hits += 1
        return data

    def put(self, kind: str, key: str, data: bytes) -> None:
        """Stores `data`; a failure to write is no error."""
        name = f"{kind}-{key}"
        self._memory[name] = data
        if self.folder is not None and self.note is None:
            try:
                sealed = _seal(name, data)
                self._write(self._path(name), sealed)
                self._written += len(sealed)
            except OSError as error:
                self.note = f"nothing is written to {self.folder}: {error.strerror or error}"

    def trim(self) -> None:
        """Deletes the least recently used entries of a folder above its limit, down to three quarters of it, where
        enough was written since that was done last, by whichever process."""
        if self.folder is None or not self._written or not self._count_written():
            return
        now = time.time()
        entries: list[tuple[float, int, str]] = []
        for file in _files_of(self.folder):
            with suppress(OSError):
                status = file.stat(follow_symlinks=False)
                if file.name.endswith(_SUFFIX):
                    entries.append((status.st_mtime, status.st_size, file.path))
                elif file.name.endswith(_UNFINISHED) and now - status.st_mtime > _TOUCHED_SECONDS:
                    os.unlink(file.path)
        size = sum(s for _, s, _ in entries)
        if size <= self._limit:
            return
        for _, bytes_, path in sorted(entries):
            with suppress(OSError):
                os.unlink(path)
            size -= bytes_
            if size <= self._limit * 3 // 4:
                return

    def _count_written(self) -> bool:
        """Adds what this object wrote to the folder's count; whether a walk is due, for which the count begins anew. It
        is due where there is no count, as in a folder of an earlier version."""
        assert self.folder is not None
        counted = self.folder / _WRITTEN
        written, self._written = -(-self._written // 1024), 0
        begun = counted.exists()
        try:
            with open(counted, "ab", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
                file.write(bytes(min(written, self._limit // 1024 + 1)))
                due = not begun or file.tell() * 1024 * _PARTS > self._limit
                if due:
                    file.truncate(0)
        except OSError:
            return False
        return due

    def _path(self, name: str) -> Path:
        assert self.folder is not None
        digest = sha256(name.encode()).hexdigest()
        return self.folder / digest[:2] / f"{digest[2:]}{_SUFFIX}"

    def _read(self, name: str) -> bytes | None:
        path = self._path(name)
        try:
            with path.open("rb") as file:
                sealed = b"" if distrust(os.fstat(file.fileno())) else file.read()
        except OSError:
            return None
        data = _open(name, sealed)
        if data is not None:
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > _TOUCHED_SECONDS:
                    os.utime(path)
        return data

    def _write(self, path: Path, sealed: bytes) -> None:
        assert self.folder is not None
        self.folder.mkdir(0o700, parents=True, exist_ok=True)
        path.parent.mkdir(0o700, exist_ok=True)
        handle, unfinished = tempfile.mkstemp(suffix=_UNFINISHED, dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(sealed)
            os.replace(unfinished, path)
        except BaseException as error:
            with suppress(OSError):
                os.unlink(unfinished)
            # Windows: another process has the entry open, so it is there already.
            if not isinstance(error, PermissionError) or not path.exists():
                raise


def _files_of(folder: Path) -> Iterator[os.DirEntry[str]]:
    """The files of a folder's folders; those that other processes delete meanwhile may be among them."""
    with suppress(OSError):
        for part in os.scandir(folder):
            with suppress(OSError):
                if part.is_dir(follow_symlinks=False):
                    yield from os.scandir(part.path)


def _seal(name: str, data: bytes) -> bytes:
    packed = zlib.compress(data, 1)
    return _MAGIC + _checksum(name, packed) + packed


def _open(name: str, sealed: bytes) -> bytes | None:
    """The data, None where `sealed` is damaged or another entry's."""
    start = len(_MAGIC) + _CHECKSUM_BYTES
    packed = sealed[start:]
    if sealed[:start] != _MAGIC + _checksum(name, packed):
        return None
    return zlib.decompress(packed)


def _checksum(name: str, packed: bytes) -> bytes:
    return sha256(name.encode() + b"\0" + packed).digest()


def distrust(status: os.stat_result) -> str | None:
    """Why a folder or a file of this status may have contents by another user; None if it cannot, or if the system has
    no such users."""
    if not hasattr(os, "geteuid"):
        return None
    if status.st_uid != os.geteuid():
        return f"it belongs to another user ({status.st_uid})"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"other users may write to it (mode {stat.S_IMODE(status.st_mode):04o})"
    return None


def open_cache(*, enabled: bool = True) -> Cache:
    """The user's cache, in the folder of WEBNN_COMPILE_CACHE_DIR or else the system's folder for caches. Not `enabled`,
    or, with a warning, where other users may have written to the folder: one in memory."""
    if not enabled:
        return Cache(None)
    named = os.environ.get(FOLDER_VARIABLE)
    folder = Path(named) if named else usual_folder()
    reason = None
    # The target of a link is checked, and used.
    with suppress(OSError, RuntimeError):
        folder = folder.resolve()
        reason = distrust(folder.stat())
    if reason is None:
        return Cache(folder)
    temporary = Cache(None)
    temporary.note = f"the cache folder {folder} is passed over: {reason}"
    warnings.warn(
        f"{temporary.note}, and what it holds is run; make it yours alone (chown, chmod go-w), or name another "
        f"folder by {FOLDER_VARIABLE}",
        stacklevel=3,
    )
    return temporary


def usual_folder() -> Path:
    """Where this system keeps caches, ours among them."""
    from platformdirs import user_cache_path

    return user_cache_path("webnn-compile", appauthor=False)


def key_of(*parts: object) -> str:
    """A key of all that an entry depends on, this compiler included: values that their text identifies."""
    text = "\0".join(str(p) for p in (compiler_sources(), *parts))
    return sha256(text.encode()).hexdigest()


@cache
def compiler_sources() -> str:
    """A hash of the compiler's own source files: no other version of any of them finds entries of this one."""
    digest = sha256()
    root = Path(__file__).parent.parent
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
