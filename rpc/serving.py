"""A model that the broker compiles for subscribed pages, and again when its file changes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from .messages import Buffer

POLL = 0.5
"""Seconds between two looks at the file."""


class Compiled(Protocol):
    """The manifest of a bundle as JSON, and the contents of its files by sha256."""

    @property
    def fields(self) -> Mapping[str, Any]: ...
    @property
    def contents(self) -> Mapping[str, Buffer]: ...


class ServingError(Exception):
    """The model cannot be compiled; the message says why."""


@dataclass(frozen=True, slots=True)
class _State:
    """Of a file: when it was changed, and its size; zeros where it is missing."""

    changed: int
    size: int


class ServedModel:
    """`compile` makes a model of the file for a backend and the features of a browser; it raises ServingError. Results
    are kept until the file changes. For several threads."""

    def __init__(self, path: Path, compile: Callable[[Path, str, Sequence[str]], Compiled]) -> None:
        self.name = path.name
        self._path, self._compile = path, compile
        self._state = self._look()
        self._made: dict[tuple[str, tuple[str, ...]], Compiled] = {}
        self._lock = threading.Lock()

    def compiled(self, backend: str, features: Sequence[str]) -> Compiled:
        """Raises ServingError."""
        key = backend, tuple(features)
        with self._lock:
            if key not in self._made:
                self._made[key] = self._compile(self._path, backend, features)
            return self._made[key]

    def has_changed(self) -> bool:
        """Whether the file is another than at the last call. One that is being written, or is missing, is not yet."""
        state = self._look()
        if state == self._state or not state.size:
            return False
        with self._lock:
            self._state = state
            self._made.clear()
        return True

    def _look(self) -> _State:
        try:
            found = self._path.stat()
        except OSError:
            return _State(0, 0)
        return _State(found.st_mtime_ns, found.st_size)
