"""Fuzz cases and their outcomes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

KINDS = ("bytes", "protobuf", "nodes", "graphs", "quanta", "growth", "names", "page")


@dataclass(frozen=True)
class Subject:
    """A model file and what it is run on. `target` names a backend, or "bundle" for the command line; `strict`: the
    model is valid, so it must compile. `edits` names the mutations."""

    model: bytes
    feeds: dict[str, Array]
    target: str = "native"
    strict: bool = False
    edits: tuple[str, ...] = ()


@dataclass(frozen=True)
class Case:
    """A seed of a kind. `kept` are the indices of the mutations (or of a page's parts) that remain while it is shrunk,
    None for all; `reduced` is a smaller model in place of the one that the seed gives."""

    kind: str
    seed: int
    kept: tuple[int, ...] | None = None
    reduced: Subject | None = None


@dataclass(frozen=True)
class Outcome:
    """`result` is one of few words, for the summary. `fault` is empty where all is well, else what went wrong, the same
    text for the same fault of the compiler; `details` is all that is known."""

    result: str
    fault: str = ""
    details: str = ""
