"""Object headers: the messages of a group or a dataset (section IV.A of the specification)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from .cursor import Cursor, File

_SHARED = 0x02


class Kind(IntEnum):
    """Types of messages."""

    DATASPACE = 0x01
    LINK_INFO = 0x02
    DATATYPE = 0x03
    LINK = 0x06
    EXTERNAL_FILES = 0x07
    LAYOUT = 0x08
    FILTERS = 0x0B
    ATTRIBUTE = 0x0C
    CONTINUATION = 0x10
    SYMBOL_TABLE = 0x11
    ATTRIBUTE_INFO = 0x15


@dataclass(frozen=True, slots=True)
class Message:
    """`is_shared` where the body is elsewhere in the file, as that of a named datatype."""

    kind: int
    body: memoryview
    is_shared: bool


def read_messages(file: File, address: int) -> list[Message]:
    """All messages of the object header at `address`, in order."""
    start = file.at(address)
    if bytes(start.take(4)) == b"OHDR":
        return _read_blocks(file, *_first_block(start))
    start = file.at(address)
    if start.number(1) != 1:
        raise ValueError(f"there is no object header at byte {address}")
    start.take(7)  # the count of messages and of links
    length = start.number(4)
    start.take(4)
    return _read_blocks(file, start.take(length), None)


def _first_block(start: Cursor) -> tuple[memoryview, int]:
    """The first messages of a header of version 2, and its flags."""
    if start.number(1) != 2:
        raise ValueError("there is an object header of an unknown version")
    flags = start.number(1)
    start.take((16 if flags & 0x20 else 0) + (4 if flags & 0x10 else 0))
    return start.take(start.number(1 << (flags & 3))), flags


def _read_blocks(file: File, block: memoryview, flags: int | None) -> list[Message]:
    """The messages of a block, and of those that continue it; `flags` is None in version 1."""
    found: list[Message] = []
    blocks = [block]
    while blocks:
        block = blocks.pop()
        file.spend(len(block))
        for message in _read_block(block, flags):
            if message.kind != Kind.CONTINUATION:
                found.append(message)
                continue
            place = Cursor(message.body)
            address, length = place.number(8), place.number(8)
            following = file.at(address)
            if flags is not None:
                following.expect(b"OCHK")
                length -= 8  # the signature, and a checksum behind
            blocks.append(following.take(length))
    return found


def _read_block(block: memoryview, flags: int | None) -> list[Message]:
    found: list[Message] = []
    at = Cursor(block)
    head = 8 if flags is None else 6 if flags & 4 else 4
    while at.left >= head:  # there may be a gap at the end
        kind = at.number(2 if flags is None else 1)
        length = at.number(2)
        shared = at.number(1) & _SHARED
        at.take(head - (5 if flags is None else 4))
        found.append(Message(kind, at.take(length), bool(shared)))
    return found


def body_of(messages: list[Message], kind: Kind) -> Cursor:
    """The only message of a kind. Raises ValueError where there is none."""
    for m in messages:
        if m.kind == kind and not m.is_shared:
            return Cursor(m.body)
    raise ValueError(f"an object has no {kind.name.lower().replace('_', ' ')}")
