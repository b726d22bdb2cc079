"""B-trees of version 1 (section III.A.1), of groups and of chunks."""

from __future__ import annotations

from collections.abc import Iterator

from .cursor import File


def read_tree(file: File, root: int, kind: int, key: int) -> Iterator[tuple[memoryview, int]]:
    """The leaves in order: the key before each, of `key` bytes, and its address. `kind` is 0 in groups, 1 in chunks.
    Raises ValueError where a node is not one of its tree."""
    nodes: list[tuple[int, int | None]] = [(root, None)]
    while nodes:
        address, expected = nodes.pop()
        at = file.at(address)
        at.expect(b"TREE")
        found, level = at.number(1), at.number(1)
        if found != kind or expected not in (None, level):
            raise ValueError(f"the tree node at byte {address} is not one of its tree")
        count = at.number(2)
        file.spend(count * (key + 8))
        at.take(16)  # siblings
        entries = [(at.take(key), at.number(8)) for _ in range(count)]
        if level:
            nodes += [(child, level - 1) for _, child in reversed(entries)]
        else:
            yield from entries
