"""Elements of a dataset, in one piece or in chunks (sections IV.A.2.i and IV.A.2.l)."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from enum import IntEnum
from math import prod

import numpy as np

from ...system.limits import ELEMENTS, RANK
from .btree import read_tree
from .cursor import UNDEFINED, Cursor, File, Unsupported
from .headers import Kind, Message, body_of
from .types import read_shape, read_type

Array = np.ndarray
Filter = Callable[[bytes, int], bytes]
"""Undoes a filter; the elements take so many bytes without any."""

DENSEST = 1100
"""Deflate makes a byte of so many at most."""

_CHECKSUM = 4
"""Bytes behind a chunk, which are not verified."""


class Layout(IntEnum):
    COMPACT = 0
    CONTIGUOUS = 1
    CHUNKED = 2


class FilterKind(IntEnum):
    DEFLATE = 1
    SHUFFLE = 2
    CHECKSUM = 3


def read_elements(file: File, messages: list[Message]) -> Array:
    """Numbers as NumPy has them, bfloat16 as float32; without copying those of one piece. Raises ValueError where the
    file has fewer than the shape says."""
    shape = read_shape(body_of(messages, Kind.DATASPACE))
    datatype = read_type(body_of(messages, Kind.DATATYPE))
    if shape is None or datatype.numpy is None:
        raise ValueError("a dataset has no numbers")
    if len(shape) > RANK or prod(shape) > ELEMENTS:
        raise ValueError(f"a dataset of shape {list(shape)} has no data")
    if any(m.kind == Kind.EXTERNAL_FILES for m in messages):
        raise ValueError("the elements of a dataset are not in the file")
    array = _stored(file, messages, shape, datatype.numpy)
    if datatype.is_bfloat16:
        return (array.astype(np.uint32) << 16).view(np.float32)
    return np.require(array, array.dtype.newbyteorder("="), "A")


def _stored(file: File, messages: list[Message], shape: tuple[int, ...], dtype: np.dtype) -> Array:
    at = body_of(messages, Kind.LAYOUT)
    version, layout = at.number(1), at.number(1)
    if version not in (3, 4) or layout not in tuple(Layout):
        raise Unsupported(f"a dataset whose layout is of version {version} and class {layout}")
    if layout == Layout.CHUNKED:
        if version == 4:
            raise Unsupported("chunks with an index other than a B-tree of version 1")
        return _chunked(file, at, _filters(messages, dtype.itemsize), shape, dtype)
    length = prod(shape) * dtype.itemsize
    if not length:
        return np.zeros(shape, dtype)
    if layout == Layout.COMPACT:
        stored = at.take(at.number(2))
    else:
        address = at.number(8)
        if address == UNDEFINED:
            raise ValueError(f"a dataset of shape {list(shape)} has no data")
        file.spend(length)
        stored = file.at(address).take(length)
    return np.frombuffer(Cursor(stored).take(length), dtype).reshape(shape)


def _chunked(file: File, at: Cursor, filters: list[Filter], shape: tuple[int, ...], dtype: np.dtype) -> Array:
    rank = at.number(1) - 1
    root = at.number(8)
    extents = tuple(at.number(4) for _ in range(rank))
    if rank != len(shape) or at.number(4) != dtype.itemsize or not all(extents):
        raise ValueError(f"chunks of shape {list(extents)} are those of another dataset than one of {list(shape)}")
    if not prod(shape):
        return np.zeros(shape, dtype)
    chunks = [] if root == UNDEFINED else list(read_tree(file, root, 1, 8 + 8 * (rank + 1)))
    size = sum(Cursor(key).number(4) for key, _ in chunks)
    needed = prod(-(-n // extent) for n, extent in zip(shape, extents, strict=True))
    whole = prod(extents) * dtype.itemsize
    file.spend(size)
    if needed * whole > size * DENSEST or needed != len(chunks):
        raise ValueError(f"a dataset of shape {list(shape)} has no data for all of its {needed} chunks")
    array = np.zeros(shape, dtype)
    for key, address in chunks:
        head = Cursor(key)
        length, mask = head.number(4), head.number(4)
        starts = [head.number(8) for _ in range(rank)]
        stored = bytes(file.at(address).take(length))
        for i, undo in reversed(list(enumerate(filters))):
            stored = stored if mask >> i & 1 else undo(stored, whole)
        chunk = np.frombuffer(Cursor(memoryview(stored)).take(whole), dtype).reshape(extents)
        part = array[tuple(slice(s, s + e) for s, e in zip(starts, extents, strict=True))]
        part[...] = chunk[tuple(map(slice, part.shape))]
    return array


def _filters(messages: list[Message], itemsize: int) -> list[Filter]:
    """The inverse of each filter, in the order in which filters were applied."""
    if all(m.kind != Kind.FILTERS for m in messages):
        return []
    at = body_of(messages, Kind.FILTERS)
    version, count = at.number(1), at.number(1)
    at.take(6 if version == 1 else 0)
    return [_filter(at, version, itemsize) for _ in range(count)]


def _filter(at: Cursor, version: int, itemsize: int) -> Filter:
    kind = at.number(2)
    name = at.number(2) if version == 1 or kind >= 256 else 0
    at.take(2)
    values = at.number(2)
    at.take((name + 7) // 8 * 8 if version == 1 else name)
    at.take(4 * (values + (values % 2 if version == 1 else 0)))
    match kind:
        case FilterKind.DEFLATE:
            return lambda stored, size: zlib.decompressobj().decompress(stored, size + _CHECKSUM)
        case FilterKind.SHUFFLE:
            return lambda stored, _: _in_order(stored, itemsize)
        case FilterKind.CHECKSUM:
            return lambda stored, _: stored[:-_CHECKSUM]
    raise Unsupported(f"chunks by the filter number {kind}")


def _in_order(stored: bytes, itemsize: int) -> bytes:
    """The bytes of elements, of which first bytes came first, then second ones, ..."""
    whole = len(stored) // itemsize * itemsize
    parts = np.frombuffer(stored[:whole], np.uint8).reshape(itemsize, -1)
    return parts.T.tobytes() + stored[whole:]
