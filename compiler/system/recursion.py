"""A recursion limit for walks over expressions, which recurse as deep as these are."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

FRAMES = 5_000
"""Python frames. The depth of an expression is bounded by fusion (`tensor/fuse/measure.DEPTH_LIMIT`) and by operators
(`ops/broadcast.MOST_OPERANDS`), not by the model's size; a walk takes three or four frames a level."""


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Inside, functions on the IR may recurse FRAMES deep; also a decorator."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
