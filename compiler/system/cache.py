"""Results of earlier builds, on disk: pieces of code by a hash of everything that they were made from.

Any number of processes may use one folder: an entry is written aside and then renamed, and carries a checksum, so that
whoever reads it finds all of it or nothing. What cannot be read counts as not there; a folder that cannot be written to
is left alone, and `note` says so. What it holds is run, so a folder or an entry that other users can write to, or that
belongs to one, is passed over. Where the folder grows too large, the least recently read entries go.
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
"""An entry that is read is marked as used, but not more often than this; a file that was left unfinished is litter
after as long."""


class Cache:
    """Entries by kind ("code", "object", ...) and key. Without a folder they last as long as this object.

    `hits` and `misses` count what `get` was asked for, each entry once.
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
        """What was put here, by this process or another; None where there is no such entry, or a damaged one."""
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
        """Keeps `data`; that it cannot be written is no error."""
        name = f"{kind}-{key}"
        self._memory[name] = data
        if self.folder is not None and self.note is None:
            try:
                self._write(self._path(name), _seal(name, data))
                self._wrote = True
            except OSError as error:
                self.note = f"nothing is written to {self.folder}: {error.strerror or error}"

    def trim(self) -> None:
        """Drops what was not used for longest, where the folder is above its limit, until a quarter of that is free."""
        if self.folder is None or not self._wrote:
            return
        self._wrote = False
        now = time.time()
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
    """Why a folder or a file of this status may hold what another user wrote; None where it does not, and where the
    system has no such users."""
    if not hasattr(os, "geteuid"):
        return None
    if status.st_uid != os.geteuid():
        return f"it belongs to another user ({status.st_uid})"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"other users may write to it (mode {stat.S_IMODE(status.st_mode):04o})"
    return None


def open_cache(*, enabled: bool = True) -> Cache:
    """The user's cache, in the folder that WEBNN_COMPILE_CACHE_DIR names or else where the system keeps caches. Where
    it is not `enabled`, one that ends with the process; so too, with a warning, where other users may have written to
    the folder."""
    if not enabled:
        return Cache(None)
    named = os.environ.get(FOLDER_VARIABLE)
    folder = Path(named) if named else _usual_folder()
    reason = None
    # What a link leads to is checked, and used.
    with suppress(OSError, RuntimeError):
        folder = folder.resolve()
        reason = distrust(folder.stat())
    if reason is None:
        return Cache(folder)
    known = Cache(None)
    known.note = f"the cache folder {folder} is passed over: {reason}"
    warnings.warn(
        f"{known.note}, and what it holds is run; make it yours alone (chown, chmod go-w), or name another "
        f"folder by {FOLDER_VARIABLE}",
        stacklevel=3,
    )
    return known


def _usual_folder() -> Path:
    from platformdirs import user_cache_path

    return user_cache_path("webnn-compile", appauthor=False)


def key_of(*parts: object) -> str:
    """A key of everything that an entry depends on, this compiler included: values whose text says all of them."""
    text = "\0".join(str(p) for p in (compiler_sources(), *parts))
    return sha256(text.encode()).hexdigest()


@cache
def compiler_sources() -> str:
    """A hash of the compiler's own source files: another version of any of them finds no entry of this one."""
    digest = sha256()
    root = Path(__file__).parent.parent
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
