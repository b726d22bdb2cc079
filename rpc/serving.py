"""A model that the broker compiles for subscribed pages, and again when its file changes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from .messages import Buffer

POLL = 0.5
"""Seconds between two checks of the file."""


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
    """State of a file: when it was changed, and its size; zeros where it is missing."""

    changed: int
    size: int


class ServedModel:
    """`compile` makes a model of the file for a backend and features of a browser, those of `features` alone where that
    is given; it raises ServingError. Results are kept until the file changes. For several threads."""

    def __init__(
        self,
        path: Path,
        compile: Callable[[Path, str, Sequence[str]], Compiled],
        features: Sequence[str] | None = None,
    ) -> None:
        self.name = path.name
        self._path, self._compile, self._features = path, compile, features
        self._state = self._look()
        self._made: dict[tuple[str, tuple[str, ...]], Compiled] = {}
        self._compiling = threading.Lock()

    def compiled(self, backend: str, features: Sequence[str]) -> Compiled:
        """Raises ServingError."""
        if self._features is not None:
            features = [f for f in self._features if f in features]
        key = backend, tuple(features)
        with self._compiling:
            by_key = self._made  # of the file as it is now: it is another dict when the file has changed
            if key not in by_key:
                by_key[key] = self._compile(self._path, backend, features)
            return by_key[key]

    def has_changed(self) -> bool:
        """Whether the file is another than at the last call; one that is missing or empty has not changed yet. Waits
        for no compilation."""
        state = self._look()
        if state == self._state or not state.size:
            return False
        self._state = state
        self._made = {}
        return True

    def _look(self) -> _State:
        try:
            stat = self._path.stat()
        except OSError:
            return _State(0, 0)
        return _State(stat.st_mtime_ns, stat.st_size)
