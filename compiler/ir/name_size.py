"""Names for sizes that are long expressions."""

from __future__ import annotations

from zlib import crc32

from .facts import range_of
from .memo import keep
from .nodes import Expr, Scalar
from .printer import print_node
from .rewrite import children
from .sizes import Size, size

LONGEST = 32
"""Most nodes, as a tree, of the expression of a size in the shape that readers of a tensor have."""


def name_size(n: Size) -> Size:
    """A size itself where it is short, else a scalar that a run computes from it, whose interval alone is known.

    So no size is longer than what one operator makes of short ones: in a chain of sizes that are each made of several
    copies of the one before, expressions would grow exponentially. Equal sizes have one name.
    """
    interval = None if isinstance(n, int) or not _is_long(n) else range_of(n)
    if isinstance(n, int) or interval is None:
        return n
    low = min(interval[0], 0)
    return size(_scalar_of(n if not low else n - low) + low)


def named_value(s: Scalar) -> Expr | None:
    """The size that `s` is a name for; None where it is none."""
    return _values().get(s)


@keep
def _scalar_of(n: Expr) -> Scalar:
    stem = f"size_{crc32(print_node(n).encode()):08x}"
    same = _named(stem)
    same.append(n)
    name = stem if len(same) == 1 else f"{stem}_{len(same)}"
    interval = range_of(n)
    assert interval is not None
    s = Scalar(name, interval[1] + 1, low=interval[0], computed=True)
    _values()[s] = n
    return s


@keep
def _values() -> dict[Scalar, Expr]:
    return {}


@keep
def _named(stem: str) -> list[Expr]:
    """The sizes whose texts have one checksum, in the order in which they were named."""
    return []


def _is_long(e: Expr) -> bool:
    stack, count = [*children(e)], 1
    while stack and count <= LONGEST:
        stack.extend(children(stack.pop()))
        count += 1
    return count > LONGEST
