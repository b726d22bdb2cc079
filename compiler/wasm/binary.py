"""The WebAssembly binary format's alphabet: LEB128 integers, names, vectors, sections.

Source: WebAssembly Core Specification 2.0, chapter 5 (binary format).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..errors import InternalError

MAGIC = b"\0asm\x01\0\0\0"
PAGE_BYTES = 65536

# Section numbers.
CUSTOM, TYPE, IMPORT, FUNCTION, TABLE, MEMORY, GLOBAL, EXPORT, START, ELEMENT, CODE, DATA, DATA_COUNT = range(13)

# Kinds of an import or export.
EXTERN_FUNCTION, EXTERN_TABLE, EXTERN_MEMORY, EXTERN_GLOBAL = range(4)

I32 = 0x7F
FUNCREF = 0x70
OP_I32_CONST = 0x41
OP_END = 0x0B


def uleb(value: int) -> bytes:
    """Unsigned LEB128, in as few bytes as it takes."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def sleb(value: int) -> bytes:
    """Signed LEB128, in as few bytes as it takes."""
    out = bytearray()
    while not -0x40 <= value < 0x40:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value & 0x7F)
    return bytes(out)


def signed(value: int) -> int:
    """The int32 with the bits of the uint32 `value`: how i32.const has to write an address."""
    return (value ^ 1 << 31) - (1 << 31)


def i32_const(value: int) -> bytes:
    """A constant expression; 0 <= value < 2**32."""
    return bytes([OP_I32_CONST]) + sleb(signed(value)) + bytes([OP_END])


def name(text: str) -> bytes:
    data = text.encode()
    return uleb(len(data)) + data


def vector(items: Iterable[bytes]) -> bytes:
    """A count, then the items."""
    listed = list(items)
    return uleb(len(listed)) + b"".join(listed)


def memory_import(module: str, field: str, heap_base: int, shared_pages: int | None) -> bytes:
    """An imported memory of at least `heap_base` bytes; shared, with a maximum, where `shared_pages` is given."""
    pages = -(-heap_base // PAGE_BYTES)
    limits = b"\0" + uleb(pages) if shared_pages is None else b"\3" + uleb(pages) + uleb(shared_pages)
    return name(module) + name(field) + bytes([EXTERN_MEMORY]) + limits


UNSHARED_LIMITS, SHARED_LIMITS = 1, 3
"""The flags of a memory that has a maximum; they are all in which a module for threads differs from one without."""


def limits_at(module: bytes) -> int:
    """The byte with the flags of the imported memory; InternalError where there is none."""
    reader = Reader(module, "module")
    reader.take(len(MAGIC))
    while reader.byte() != IMPORT:
        reader.take(reader.uleb())
    reader.uleb()
    for _ in range(reader.uleb()):
        reader.name(), reader.name()
        if reader.byte() == EXTERN_MEMORY:
            return reader.position
        reader.uleb()
    raise reader.fail("no imported memory")


def section(number: int, body: bytes) -> bytes:
    return bytes([number]) + uleb(len(body)) + body


class Reader:
    """Reads a byte string from front to back; InternalError where it ends too early or is malformed.

    `what` names the thing being read, for messages.
    """

    __slots__ = ("data", "position", "what")

    def __init__(self, data: bytes, what: str) -> None:
        self.data = data
        self.position = 0
        self.what = what

    @property
    def at_end(self) -> bool:
        return self.position >= len(self.data)

    def fail(self, problem: str) -> InternalError:
        return InternalError(f"{self.what}: {problem} at byte {self.position} of {len(self.data)}")

    def byte(self) -> int:
        return self.take(1)[0]

    def take(self, count: int) -> bytes:
        end = self.position + count
        if end > len(self.data):
            raise self.fail(f"{count} bytes expected, it ends too early")
        data = self.data[self.position : end]
        self.position = end
        return data

    def uleb(self) -> int:
        value, shift, byte = 0, 0, 0x80
        while byte & 0x80:
            byte = self._leb_byte(shift)
            value |= (byte & 0x7F) << shift
            shift += 7
        return value

    def sleb(self) -> int:
        value, shift, byte = 0, 0, 0x80
        while byte & 0x80:
            byte = self._leb_byte(shift)
            value |= (byte & 0x7F) << shift
            shift += 7
        return value - (1 << shift) if byte & 0x40 else value

    def _leb_byte(self, shift: int) -> int:
        if shift >= 70:
            raise self.fail("an integer longer than 64 bits")
        return self.byte()

    def name(self) -> str:
        data = self.take(self.uleb())
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise self.fail("a name that is not UTF-8") from None

    def i32_const(self) -> int:
        """A constant expression that is one i32.const."""
        if self.byte() != OP_I32_CONST:
            raise self.fail("an initialiser other than i32.const")
        value = self.sleb()
        if self.byte() != OP_END:
            raise self.fail("an initialiser other than i32.const")
        return value

    def limits(self) -> tuple[int, int, int | None]:
        """Flags, minimum, and maximum where there is one."""
        flags = self.byte()
        minimum = self.uleb()
        return flags, minimum, self.uleb() if flags & 1 else None


@dataclass(frozen=True, slots=True)
class Section:
    """One section; `title` is a custom section's name and empty otherwise, `body` comes after it."""

    number: int
    title: str
    body: bytes


def sections(module: bytes, what: str) -> Iterator[Section]:
    """The sections of a module or object, in order; InternalError where it is none."""
    reader = Reader(module, what)
    if module[: len(MAGIC)] != MAGIC:
        raise reader.fail("no WebAssembly header")
    reader.take(len(MAGIC))
    while not reader.at_end:
        number = reader.byte()
        body = reader.take(reader.uleb())
        title = ""
        if number == CUSTOM:
            inner = Reader(body, what)
            title = inner.name()
            body = body[inner.position :]
        yield Section(number, title, body)
