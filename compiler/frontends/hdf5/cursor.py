"""A position in the bytes of a file, whose reads never leave them."""

from __future__ import annotations

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
