"""Messages of the protocol: a JSON header and raw bytes, in one WebSocket message or, where they are long, in several.

The format is that of PROTOCOL.md, section Frames. Nothing here depends on a connection.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeGuard, TypeVar

VERSION = 1
"""Version of the protocol; both sides of a connection must have the same."""

CHUNK = 2**19
"""Bytes of payload in a frame that this side sends; larger frames are slower, as their copies miss the caches."""

LARGEST_FRAME = 16 * 2**20 + 2**16
"""Bytes of a frame that either side takes: 16 MiB of payload and a header."""

LARGEST_HEADER = 2**20
"""Bytes; it holds names and shapes, a program's manifest at most."""

LARGEST_PAYLOAD = 2**30
"""Bytes of one message."""

MOST_OPEN = 16
"""Messages of one connection whose frames may be interleaved."""

LONGEST_WAIT = 10**9
"""Seconds that a client may give as a timeout or deadline."""

Buffer: TypeAlias = bytes | bytearray | memoryview
Header: TypeAlias = dict[str, Any]
T = TypeVar("T")

MALFORMED, REFUSED, TOO_MANY = 4400, 4401, 4429
"""Codes with which the broker closes a connection, besides those of WebSocket."""


class ProtocolError(Exception):
    """Input that is no message: the connection that sent it is closed, with `code`."""

    def __init__(self, message: str, code: int = MALFORMED) -> None:
        super().__init__(message)
        self.code = code


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
        header = _parse(str(data[4 : 4 + length], "utf-8"))
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"a header that is no JSON: {type(error).__name__}") from None
    if not isinstance(header, dict):
        raise ProtocolError("a header that is no JSON object")
    return header, data[4 + length :]


def _parse(text: str) -> object:
    """Parses JSON that can be written again: no NaN, no number beyond float64, no half of a surrogate pair."""
    parsed = _DECODER.decode(text)
    if _SURROGATE.search(text):
        json.dumps(parsed, ensure_ascii=False).encode()  # raises UnicodeEncodeError, a ValueError
    return parsed


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_finite)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class Incomplete(Generic[T]):
    """The messages of one connection of which more frames come, each with `kept`, its receiver's own. Checks that the
    frames of a message follow each other."""

    def __init__(self, largest: int = LARGEST_PAYLOAD) -> None:
        self._largest = largest
        self._open: dict[int, tuple[T, int, int]] = {}  # with the bytes that arrived, and of all

    def begin(self, header: Header, piece: Buffer, kept: T) -> bool:
        """Whether its first frame is the whole message. Raises ProtocolError."""
        total = header.get("bytes", len(piece))
        if not is_count(total) or total > self._largest:
            raise ProtocolError(f"a message of {total!r} bytes; {self._largest} are the most")
        if total < len(piece):
            raise ProtocolError(f"{len(piece)} bytes of a message of {total}")
        if total == len(piece):
            return True
        id = id_of(header)
        if id in self._open or len(self._open) >= MOST_OPEN:
            raise ProtocolError(f"message {id} is there already, or {MOST_OPEN} others are incomplete")
        self._open[id] = kept, len(piece), total
        return False

    def add(self, header: Header, piece: Buffer) -> tuple[T, bool]:
        """The message that a frame with `at` belongs to, and whether it is complete. Raises ProtocolError."""
        id = id_of(header)
        if id not in self._open:
            raise ProtocolError(f"a piece of message {id}, which has not begun")
        kept, arrived, total = self._open[id]
        now = arrived + len(piece)
        if header["at"] != arrived or not piece or now > total:
            raise ProtocolError(f"a piece at {header['at']!r} of message {id}, which has {arrived} of {total} bytes")
        if now == total:
            del self._open[id]
        else:
            self._open[id] = kept, now, total
        return kept, now == total

    def drop(self, id: object) -> None:
        """The rest of this message does not come."""
        if is_count(id):
            self._open.pop(id, None)

    def __iter__(self) -> Iterator[T]:
        return (kept for kept, _, _ in self._open.values())


class Assembler:
    """Puts the frames of a connection together. What it holds is bounded by what has arrived, never by what a header
    announces."""

    def __init__(self, largest: int = LARGEST_PAYLOAD) -> None:
        self._incomplete = Incomplete[tuple[Header, bytearray]](largest)

    def feed(self, frame: object) -> Message | None:
        """The message that `frame` completes, if it does. Raises ProtocolError."""
        header, piece = split_frame(frame)
        if "at" in header:
            (first, data), complete = self._incomplete.add(header, piece)
            data += piece
            return Message(first, data) if complete else None
        if "error" in header:
            self._incomplete.drop(header.get("id"))
        data = bytearray()
        if self._incomplete.begin(header, piece, (header, data)):
            return Message(header, piece)
        data += piece
        return None


def id_of(header: Header) -> int:
    """Raises ProtocolError."""
    id = header.get("id")
    if not is_count(id):
        raise ProtocolError(f"a message with the id {id!r}")
    return id


def is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53
