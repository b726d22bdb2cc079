"""Elements of a constant in a file of weights: a header of 64 bytes, then constants from multiples of 64 on, each
behind 64 bytes that describe it.

Source: Core ML's blob storage format, version 2 (`mlmodel/src/MILBlob` of coremltools).
"""

from __future__ import annotations

import struct

_SENTINEL = 0xDEADBEEF
_METADATA = struct.Struct("<IIQQQ")
"""Sentinel, element type, bytes, their offset, unused bits at the end."""


def read_blob(file: bytes, offset: int) -> bytes:
    """The bytes of the constant whose description begins at `offset`. Raises ValueError where there is none."""
    if offset + 64 > len(file):
        raise ValueError(f"the file of weights has {len(file)} bytes, and one is at {offset}")
    sentinel, _, size, begin, _ = _METADATA.unpack_from(file, offset)
    if sentinel != _SENTINEL:
        raise ValueError(f"the file of weights has no constant at {offset}")
    if begin + size > len(file):
        raise ValueError(f"the file of weights has {len(file)} bytes, and a constant ends at {begin + size}")
    return file[begin : begin + size]
