"""Room for expressions of many levels: a chain of fused operators is as deep as it is long."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Inside, functions on the IR may recurse a hundred thousand levels; also a decorator."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, 100_000))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
