"""Attributes that are texts (section IV.A.2.m), and the heap of texts of any length (section III.E)."""

from __future__ import annotations

from collections.abc import Iterator

from .cursor import Cursor, File
from .headers import Kind, Message
from .links import refuse_dense
from .types import count_of, read_shape, read_type


def read_attributes(messages: list[Message]) -> dict[str, tuple[memoryview, ...]]:
    """The type, the shape and the data of each, by name."""
    found: dict[str, tuple[memoryview, ...]] = {}
    for message in messages:
        if message.kind == Kind.ATTRIBUTE_INFO:
            refuse_dense(Cursor(message.body), 2, "many attributes in a fractal heap")
        elif message.kind == Kind.ATTRIBUTE and not message.is_shared:
            name, *parts = _parts(Cursor(message.body))
            found[bytes(name).partition(b"\0")[0].decode()] = tuple(parts)
    return found


def _parts(at: Cursor) -> Iterator[memoryview]:
    version, shared = at.number(1), at.number(1)
    if version not in (1, 2, 3) or (version > 1 and shared & 3):
        raise ValueError(f"there is an attribute of version {version}, or one of a named type")
    lengths = [at.number(2) for _ in range(3)]
    if version == 3:
        at.take(1)  # the encoding of the name
    for length in lengths:
        yield at.take(length)
        if version == 1:
            at.take(-length % 8)
    yield at.take(at.left)


def read_texts(file: File, parts: tuple[memoryview, ...]) -> list[str]:
    """All elements of an attribute. Raises ValueError where they are no texts."""
    kind, shape, elements = (Cursor(part) for part in parts)
    count = count_of(read_shape(shape))
    if not count:
        return []
    datatype = read_type(kind)
    if datatype.numpy is not None:
        raise ValueError("an attribute that is to be text has numbers")
    if count * datatype.size > elements.left:
        raise ValueError(f"an attribute has {elements.left} bytes, and its {count} elements take more")
    if not datatype.is_variable:
        return [bytes(elements.take(datatype.size)).rstrip(b"\0").decode() for _ in range(count)]
    return [_in_heap(file, elements) for _ in range(count)]


def _in_heap(file: File, at: Cursor) -> str:
    length, address, index = at.number(4), at.number(8), at.number(4)
    if not length:
        return ""
    if address not in file.heaps:
        file.heaps[address] = dict(_objects(file, address))
    return bytes(Cursor(file.heaps[address][index]).take(length)).rstrip(b"\0").decode()


def _objects(file: File, address: int) -> Iterator[tuple[int, memoryview]]:
    """The objects of a global heap by their indices."""
    start = file.at(address)
    start.expect(b"GCOL")
    start.take(4)
    length = start.number(8)
    file.spend(length)
    at = Cursor(start.take(length - 16))
    while at.left >= 16:
        index = at.number(2)
        at.take(6)
        length = at.number(8)
        if not index:  # the space that is left
            return
        yield index, at.take(length)
        at.take(min(-length % 8, at.left))
