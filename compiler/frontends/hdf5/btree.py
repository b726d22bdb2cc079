"""B-trees of version 1 (section III.A.1), of groups and of chunks."""

from __future__ import annotations

from collections.abc import Iterator

from .cursor import Cursor


def read_tree(data: memoryview, root: int, kind: int, key: int) -> Iterator[tuple[memoryview, int]]:
    """The leaves in order: the key before each, of `key` bytes, and its address. `kind` is 0 in groups, 1 in chunks.
    Raises ValueError where a node has two parents, or is none."""
    nodes: list[tuple[int, int | None]] = [(root, None)]
    seen: set[int] = set()
    while nodes:
        address, expected = nodes.pop()
        at = Cursor(data, address)
        at.expect(b"TREE")
        found, level = at.number(1), at.number(1)
        if address in seen or found != kind or expected not in (None, level):
            raise ValueError(f"the tree node at byte {address} is not one of its tree")
        seen.add(address)
        count = at.number(2)
        at.take(16)  # siblings
        entries = [(at.take(key), at.number(8)) for _ in range(count)]
        if level:
            nodes += [(child, level - 1) for _, child in reversed(entries)]
        else:
            yield from entries
