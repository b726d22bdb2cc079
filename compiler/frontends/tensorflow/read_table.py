"""Tables of keys and values in files, in LevelDB's format, in which the index of a checkpoint is written.

Source: LevelDB, doc/table_format.md; the format description of Snappy (google/snappy, format_description.txt).
"""

from __future__ import annotations

from collections.abc import Iterator

_FOOTER = 48
_MAGIC = 0xDB4775248B80FB57
_TRAILER = 5
"""Bytes behind a block: how it is compressed, and a checksum."""
_MOST = 2**30
"""Bytes of a block: those of checkpoints have some thousands."""


def read_table(data: bytes) -> dict[bytes, bytes]:
    """The value of each key. Raises ValueError for what is no such table."""
    if len(data) < _FOOTER or int.from_bytes(data[-8:], "little") != _MAGIC:
        raise ValueError("it does not end as a table does")
    footer = data[-_FOOTER:]
    at = 0
    for _ in range(2):  # the place of the block of metadata
        _, at = _varint(footer, at)
    index = _block(data, footer, at)
    return {key: value for _, handle in _entries(index) for key, value in _entries(_block(data, handle, 0))}


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """An integer of 7 bits a byte, and the place behind it."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
    raise ValueError("an integer does not end")


def _block(data: bytes, handle: bytes, at: int) -> bytes:
    """The block at the offset and of the size that stand in `handle` from `at` on."""
    offset, at = _varint(handle, at)
    size, _ = _varint(handle, at)
    if offset + size + _TRAILER > len(data):
        raise ValueError("a block ends behind the file")
    block, kind = data[offset : offset + size], data[offset + size]
    if kind == 0:
        return block
    if kind == 1:
        return unsnappy(block)
    raise ValueError(f"a block is compressed in the unknown way {kind}")


def _entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Keys begin with as many bytes of the key before as are counted first. Behind the entries stand places of those
    with whole keys, and the number of these."""
    restarts = int.from_bytes(block[-4:], "little")
    end = len(block) - 4 - 4 * restarts
    if len(block) < 4 or end < 0:
        raise ValueError("a block is too short for its restarts")
    at, key = 0, b""
    while at < end:
        shared, at = _varint(block, at)
        own, at = _varint(block, at)
        length, at = _varint(block, at)
        if shared > len(key) or at + own + length > end:
            raise ValueError("an entry ends behind its block")
        key = key[:shared] + block[at : at + own]
        at += own
        yield key, block[at : at + length]
        at += length


def unsnappy(data: bytes) -> bytes:
    """The bytes that Snappy compressed: literals, and copies of bytes before. Raises ValueError for damage."""
    size, at = _varint(data, 0)
    if size > _MOST or size > 64 * len(data):
        raise ValueError(f"{len(data)} bytes cannot hold {size}")
    out = bytearray()
    while at < len(data) and len(out) <= size:
        tag = data[at]
        at += 1
        kind, count = tag & 3, tag >> 2
        if kind == 0:
            if count >= 60:
                extra = count - 59
                count = int.from_bytes(data[at : at + extra], "little")
                at += extra
            if at + count + 1 > len(data):
                raise ValueError("a literal ends behind its block")
            out += data[at : at + count + 1]
            at += count + 1
            continue
        if kind == 1:
            length, width, high = 4 + (count & 7), 1, count >> 3 << 8
        else:
            length, width, high = count + 1, 2 if kind == 2 else 4, 0
        offset = high | int.from_bytes(data[at : at + width], "little")
        at += width
        if not 0 < offset <= len(out):
            raise ValueError("a copy begins before its block")
        start = len(out) - offset
        # A copy may read what it writes: then its bytes repeat.
        piece = bytes(out[start : start + length])
        out += (piece * (length // len(piece) + 1))[:length]
    if len(out) != size:
        raise ValueError(f"{len(out)} bytes in place of {size}")
    return bytes(out)
