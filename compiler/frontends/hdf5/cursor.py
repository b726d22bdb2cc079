"""The bytes of a file, and positions in them, whose reads never leave them."""

from __future__ import annotations

from dataclasses import dataclass, field

UNDEFINED = 2**64 - 1
"""The address of what was not allocated."""


_LONGEST = 2**16
"""Bytes of a name."""


class Unsupported(Exception):
    """The file has a feature of HDF5 that is not read here; the message names it."""


class Cursor:
    """Reads little-endian integers and parts of `data` from `offset` on. Raises ValueError at the end of `data`."""

    def __init__(self, data: memoryview, offset: int = 0) -> None:
        self._data, self.offset = data, offset

    @property
    def left(self) -> int:
        return len(self._data) - self.offset

    def take(self, length: int) -> memoryview:
        end = self.offset + length
        if not 0 <= self.offset <= end <= len(self._data):
            raise ValueError(f"it ends before byte {end}")
        found = self._data[self.offset : end]
        self.offset = end
        return found

    def number(self, length: int) -> int:
        return int.from_bytes(self.take(length), "little")

    def expect(self, signature: bytes) -> None:
        at = self.offset
        if self.take(len(signature)) != signature:
            raise ValueError(f"there is no {signature.decode()} at byte {at}")

    def text(self) -> str:
        """Up to a zero, which is left out. Raises ValueError for one that is longer than names are."""
        for length in (256, _LONGEST):
            found = bytes(self._data[self.offset : self.offset + length])
            if 0 in found:
                return found[: found.index(0)].decode()
        raise ValueError(f"the text at byte {self.offset} has no end")


@dataclass(slots=True)
class File:
    """The bytes of a file, and of those that were read the objects of its global heaps, by their addresses and numbers.

    The structures of a file never overlap, and each is read once. So all of them together have no more bytes than the
    file: this bounds what a damaged one can take.
    """

    data: memoryview
    heaps: dict[int, dict[int, memoryview]] = field(default_factory=dict)
    _spent: int = 0

    def at(self, address: int) -> Cursor:
        return Cursor(self.data, address)

    def spend(self, length: int) -> None:
        """Counts the bytes of a structure, before they are read. Raises ValueError where the file has fewer."""
        self._spent += length
        if self._spent > len(self.data):
            raise ValueError("its structures overlap")
