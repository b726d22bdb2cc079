"""Messages of the protocol: a JSON header and raw bytes, in one WebSocket message or, where they are long, in several.

The format is that of PROTOCOL.md, section Frames. Nothing here depends on a connection.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeGuard

VERSION = 1
"""Of the protocol; both sides of a connection must have the same."""

CHUNK = 8 * 2**20
"""Bytes of payload in a frame that this side sends."""

LARGEST_FRAME = 16 * 2**20 + 2**16
"""Bytes of a frame that either side takes: 16 MiB of payload and a header."""

LARGEST_HEADER = 2**20
"""Bytes; it holds names and shapes, a program's manifest at most."""

LARGEST_PAYLOAD = 2**30
"""Bytes of one message."""

MOST_OPEN = 16
"""Messages of one connection whose frames may be interleaved."""

Buffer: TypeAlias = bytes | bytearray | memoryview
Header: TypeAlias = dict[str, Any]


MALFORMED, REFUSED, TOO_MANY = 4400, 4401, 4429
"""Codes with which the broker closes a connection, besides those of WebSocket."""


class ProtocolError(Exception):
    """What arrived is no message: the connection that sent it is closed."""


@dataclass(frozen=True, slots=True)
class Message:
    """`header` has the fields of PROTOCOL.md; `payload` is what they describe, often nothing."""

    header: Header
    payload: Buffer = b""


def encode(message: Message, chunk: int = CHUNK) -> Iterator[bytes]:
    """The frames: the header and the first `chunk` bytes of payload, then the rest, each with the message's id."""
    payload = memoryview(message.payload).cast("B")
    header = dict(message.header)
    if len(payload) > chunk:
        header["bytes"] = len(payload)
    yield join_frame(header, payload[:chunk])
    for start in range(chunk, len(payload), chunk):
        yield join_frame({"id": header.get("id"), "at": start}, payload[start : start + chunk])


def join_frame(header: Mapping[str, Any], payload: Buffer) -> bytes:
    """One frame."""
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    return b"".join((len(text).to_bytes(4, "little"), text, payload))


def split_frame(frame: object) -> tuple[Header, memoryview]:
    """Header and payload of one frame. Raises ProtocolError."""
    if not isinstance(frame, bytes | bytearray | memoryview):
        raise ProtocolError("a text message where a binary one is expected")
    data = memoryview(frame)
    if not 4 < len(data) <= LARGEST_FRAME:
        raise ProtocolError(f"a frame of {len(data)} bytes; 5 to {LARGEST_FRAME} are allowed")
    length = int.from_bytes(data[:4], "little")
    if length > min(LARGEST_HEADER, len(data) - 4):
        raise ProtocolError(f"a header of {length} bytes in a frame of {len(data)}")
    try:
        header = json.loads(str(data[4 : 4 + length], "utf-8"))
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"a header that is no JSON: {type(error).__name__}") from None
    if not isinstance(header, dict):
        raise ProtocolError("a header that is no JSON object")
    return header, data[4 + length :]


class Assembler:
    """Puts the frames of a connection together. What it holds is bounded by what has arrived, never by what a header
    announces."""

    def __init__(self, largest: int = LARGEST_PAYLOAD) -> None:
        self._largest = largest
        self._open: dict[object, tuple[Header, int, bytearray]] = {}

    def feed(self, frame: object) -> Message | None:
        """The message that `frame` completes, if it does. Raises ProtocolError."""
        header, piece = split_frame(frame)
        if "at" in header:
            return self._continue(header, piece)
        total = header.get("bytes", len(piece))
        if not _is_count(total) or total > self._largest:
            raise ProtocolError(f"a message of {total!r} bytes; {self._largest} are the most")
        if total < len(piece):
            raise ProtocolError(f"{len(piece)} bytes of a message of {total}")
        if total == len(piece):
            return Message(header, piece)
        key = self._key(header)
        if key in self._open or len(self._open) >= MOST_OPEN:
            raise ProtocolError(f"message {key!r} is there already, or {MOST_OPEN} others are incomplete")
        self._open[key] = header, total, bytearray(piece)
        return None

    def _continue(self, header: Header, piece: memoryview) -> Message | None:
        key = self._key(header)
        if key not in self._open:
            raise ProtocolError(f"a piece of message {key!r}, which has not begun")
        first, total, data = self._open[key]
        if header["at"] != len(data) or not piece or len(data) + len(piece) > total:
            got = f"{len(data)} of {total} bytes"
            raise ProtocolError(f"a piece at {header['at']!r} of message {key!r}, which has {got}")
        data += piece
        if len(data) < total:
            return None
        del self._open[key]
        return Message(first, data)

    @staticmethod
    def _key(header: Header) -> int:
        key = header.get("id")
        if not _is_count(key):
            raise ProtocolError(f"a message with the id {key!r}")
        return key


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53
