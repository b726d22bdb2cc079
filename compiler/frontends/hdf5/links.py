"""Links of a group: its symbol table, or link messages (sections III.A to III.D, IV.A.2.g)."""

from __future__ import annotations

from collections.abc import Iterator

from .btree import read_tree
from .cursor import UNDEFINED, Cursor, File, Unsupported
from .headers import Kind, Message

_HARD, _SOFT_CACHE = 0, 2
_SYMBOL = 40
"""Bytes of an entry of a symbol table, besides its name."""


def read_links(file: File, messages: list[Message]) -> dict[str, int]:
    """The addresses of object headers by name. Links to names and into other files are left out."""
    found: dict[str, int] = {}
    for message in messages:
        body = Cursor(message.body)
        if message.kind == Kind.SYMBOL_TABLE:
            found |= _symbols(file, body.number(8), body.number(8))
        elif message.kind == Kind.LINK:
            found |= _link(body)
        elif message.kind == Kind.LINK_INFO:
            refuse_dense(body, 8, "a group of many links in a fractal heap")
    return found


def refuse_dense(body: Cursor, index: int, what: str) -> None:
    """Raises Unsupported where a message about links or attributes refers to a heap with more of them. The index of
    their order takes `index` bytes."""
    body.take(1)
    if body.number(1) & 1:
        body.take(index)
    if body.number(8) != UNDEFINED:
        raise Unsupported(what)


def _link(body: Cursor) -> Iterator[tuple[str, int]]:
    body.take(1)
    flags = body.number(1)
    kind = body.number(1) if flags & 8 else _HARD
    body.take((8 if flags & 4 else 0) + (1 if flags & 16 else 0))
    name = bytes(body.take(body.number(1 << (flags & 3)))).decode()
    if kind == _HARD:
        yield name, body.number(8)


def _symbols(file: File, tree: int, heap: int) -> Iterator[tuple[str, int]]:
    names = file.at(heap)
    names.expect(b"HEAP")
    names.take(4)
    length = names.number(8)
    names.take(8)  # of the free list
    texts = file.at(names.number(8)).take(length)
    for _, node in read_tree(file, tree, 0, 8):
        at = file.at(node)
        at.expect(b"SNOD")
        at.take(2)
        for _ in range(at.number(2)):
            place, address, cached = at.number(8), at.number(8), at.number(4)
            at.take(20)
            name = Cursor(texts, place).text()
            file.spend(_SYMBOL + len(name))
            if cached != _SOFT_CACHE:
                yield name, address
