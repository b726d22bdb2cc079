"""Room for walks over expressions, which recurse as deep as these are."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

FRAMES = 5_000
"""Python frames. An expression is as deep as fusion lets it grow (`tensor/fuse/measure.DEPTH_LIMIT`) or as an operator
makes it (`ops/broadcast.MOST_OPERANDS`), and a walk takes three or four frames a level: a model's size adds nothing."""


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Inside, functions on the IR may recurse FRAMES deep; also a decorator."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
