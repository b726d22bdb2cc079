"""Strides at which equal places of many matrices conflict in the sets of a first-level cache."""

from __future__ import annotations

from math import gcd

SETS = 4096
"""Bytes after which addresses share a set of a first-level cache again (64 sets of 64 bytes)."""
NEAREST = 512
"""Least stride, modulo SETS, at which no set gets more lines than a cache of eight ways holds."""
WAYS = 8


def conflicts(stride: int) -> bool:
    """Whether equal places of many matrices, `stride` bytes apart, fall on too few sets."""
    return nearest(stride) > NEAREST


def nearest(stride: int) -> int:
    """How near to each other, in bytes, the sets lie on which equal places of many matrices fall."""
    return max(gcd(stride, SETS), NEAREST)
