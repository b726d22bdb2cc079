"""Tells when the files of a folder change: by their times and sizes, which all file systems have."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

PERIOD = 0.4
"""Seconds between two looks."""

MOST = 20_000
"""Files that are looked at; of a larger folder the others are not."""

PASSED_OVER = frozenset({".git", "node_modules", "__pycache__", ".venv"})


class Changes:
    """How often files have changed; several threads may wait for the next time."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._count = 0
        self._ended = False

    @property
    def count(self) -> int:
        return self._count

    @property
    def ended(self) -> bool:
        return self._ended

    def add(self) -> None:
        """One more change."""
        with self._condition:
            self._count += 1
            self._condition.notify_all()

    def end(self) -> None:
        """Lets all that wait go on: there will be no more."""
        with self._condition:
            self._ended = True
            self._condition.notify_all()

    def wait(self, seen: int, seconds: float) -> int:
        """The count, once it is another one than `seen`, after at most so many seconds."""
        with self._condition:
            self._condition.wait_for(lambda: self._count != seen or self._ended, seconds)
            return self._count


@contextmanager
def watching(*roots: Path, period: float = PERIOD) -> Iterator[Changes]:
    """The changes below folders, or of files, while the block runs. A change counts when all is quiet for one period:
    a bundle is several files."""
    changes, stop, first = Changes(), threading.Event(), _state(roots)

    def look() -> None:
        known = before = first
        while not stop.wait(period):
            now = _state(roots)
            if now == before != known:
                known = now
                changes.add()
            before = now

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield changes
    finally:
        stop.set()
        changes.end()
        thread.join()


def _state(roots: Sequence[Path]) -> dict[str, tuple[int, int]]:
    """Times and sizes by path."""
    found: dict[str, tuple[int, int]] = {}
    for path in (path for root in roots for path in _files(root)):
        try:
            facts = os.stat(path)
        except OSError:  # it is gone since
            continue
        found[path] = facts.st_mtime_ns, facts.st_size
        if len(found) >= MOST:
            break
    return found


def _files(root: Path) -> Iterator[str]:
    if root.is_file():
        yield str(root)
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in PASSED_OVER)
        yield from (os.path.join(folder, f) for f in sorted(files))
