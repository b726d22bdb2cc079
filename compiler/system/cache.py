"""Results of earlier builds, on disk: pieces of code by a hash of all their inputs.

Any number of processes may use one folder: an entry is written to a temporary file and then renamed, and has a
checksum, so that a reader finds all of it or nothing. An unreadable entry counts as missing; with a read-only folder
nothing is written, and `note` reports it. Entries are executed, so a folder or an entry that other users can write to,
or that belongs to one, is ignored. Where the folder exceeds its limit, the least recently read entries are deleted.
"""

from __future__ import annotations

import os
import stat
import tempfile
import time
import warnings
import zlib
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
_TRIMMED = "trimmed"
"""An empty file, as old as the last walk over a folder's entries."""
_TRIM_SECONDS = 600.0
"""So often at most a folder is walked: 26,000 entries take 0.25 s, four times what compiling one operator does."""


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
        self._wrote = False

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
                self._write(self._path(name), _seal(name, data))
                self._wrote = True
            except OSError as error:
                self.note = f"nothing is written to {self.folder}: {error.strerror or error}"

    def trim(self) -> None:
        """Deletes the least recently used entries of a folder above its limit, down to three quarters of it; at most
        once in ten minutes, by whichever process."""
        if self.folder is None or not self._wrote:
            return
        self._wrote = False
        now = time.time()
        mark = self.folder / _TRIMMED
        with suppress(OSError):
            if 0 <= now - mark.stat().st_mtime < _TRIM_SECONDS:
                return
        with suppress(OSError):
            mark.touch(0o600)
        entries: list[tuple[float, int, Path]] = []
        for path in self.folder.glob("*/*"):
            with suppress(OSError):
                status = path.stat()
                if path.suffix == _SUFFIX:
                    entries.append((status.st_mtime, status.st_size, path))
                elif path.suffix == _UNFINISHED and now - status.st_mtime > _TOUCHED_SECONDS:
                    path.unlink()
        size = sum(s for _, s, _ in entries)
        if size <= self._limit:
            return
        for _, bytes_, path in sorted(entries):
            with suppress(OSError):
                path.unlink()
            size -= bytes_
            if size <= self._limit * 3 // 4:
                return

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
