"""Numbers of bytes, and others, as people read them."""

from __future__ import annotations

from collections.abc import Mapping


def size(n: int) -> str:
    """A number of bytes in decimal units."""
    for unit, step in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if n >= step:
            return f"{n / step:.1f} {unit}"
    return f"{n} bytes"


def sizes_by_type(types: Mapping[str, int], lossless: int) -> str:
    """Bytes of weights by the type of their elements, of which `lossless` are float16 that the model has as float32."""
    exact = {"float16": lossless}
    return ", ".join(f"{size(n)} {name}{' without loss' if n == exact.get(name) else ''}" for name, n in types.items())


def count(n: int) -> str:
    """A number of operations, say, in three digits."""
    for unit, step in (("T", 10**12), ("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if n >= step:
            return f"{n / step:.3g} {unit}"
    return str(n)
