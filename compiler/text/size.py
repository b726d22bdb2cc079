"""Numbers of bytes, and others, as people read them."""

from __future__ import annotations


def size(n: int) -> str:
    """A number of bytes in decimal units."""
    for unit, step in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if n >= step:
            return f"{n / step:.1f} {unit}"
    return f"{n} bytes"


def count(n: int) -> str:
    """A number of operations, say, in three digits."""
    for unit, step in (("T", 10**12), ("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if n >= step:
            return f"{n / step:.3g} {unit}"
    return str(n)
