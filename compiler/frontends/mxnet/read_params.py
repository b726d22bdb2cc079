"""Reads a file of parameters of MXNet: a list of arrays and their names.

Source: NDArray::Save and NDArray::Load of MXNet (src/ndarray/ndarray.cc), of all versions.
"""

from __future__ import annotations

import struct
from math import prod

import numpy as np

from ...errors import UnsupportedError

_LIST = 0x112
_V1, _V2, _V3 = 0xF993FAC8, 0xF993FAC9, 0xF993FACA
_DTYPES = ("<f4", "<f8", "<f2", "u1", "<i4", "i1", "<i8", "?")
_BFLOAT16 = 12


def read_params(data: bytes, name: str) -> dict[str, np.ndarray]:
    """Arrays by name, without the "arg:" or "aux:" before it. Raises ValueError or struct.error for a damaged file,
    UnsupportedError for sparse arrays."""
    reader = _Reader(data, name)
    magic, _, count = reader.numbers("QQQ")
    if magic != _LIST:
        raise ValueError("it does not begin as a list of arrays")
    if count * 4 > len(data):
        raise ValueError(f"{count} arrays in {len(data)} bytes")
    arrays = [reader.array() for _ in range(count)]
    (names,) = reader.numbers("Q")
    if names != count:
        raise ValueError(f"{names} names for {count} arrays")
    found = [reader.text() for _ in range(names)]
    return {n.removeprefix("arg:").removeprefix("aux:"): a for n, a in zip(found, arrays, strict=True)}


class _Reader:
    def __init__(self, data: bytes, name: str) -> None:
        self._data, self._name, self._at = data, name, 0

    def _take(self, size: int) -> bytes:
        if not 0 <= size <= len(self._data) - self._at:
            raise ValueError(f"{size} bytes are stated at {self._at} of {len(self._data)}")
        self._at += size
        return self._data[self._at - size : self._at]

    def numbers(self, format: str) -> tuple[int, ...]:
        return struct.unpack(f"<{format}", self._take(struct.calcsize(f"<{format}")))

    def text(self) -> str:
        return self._take(*self.numbers("Q")).decode()

    def array(self) -> np.ndarray:
        """A dense array; of floating-point numbers as float32."""
        (magic,) = self.numbers("I")
        if magic in (_V2, _V3):
            (storage,) = self.numbers("i")
            if storage != 0:
                raise UnsupportedError(
                    f"{self._name} has sparse arrays, which are not read; save its parameters with "
                    "array.tostype('default')"
                )
        if magic in (_V1, _V2, _V3):
            (rank,) = self.numbers("i")
            shape = self.numbers(f"{self._rank(rank)}q")
        else:  # the first version begins with the rank
            rank = magic
            shape = self.numbers(f"{self._rank(rank)}I")
        if rank == -1 or (rank == 0 and magic != _V3):
            return np.zeros(0, np.float32)
        *_, kind = self.numbers("iii")
        if min(shape, default=0) < 0:
            raise ValueError(f"an array of the shape {list(shape)}")
        if kind == _BFLOAT16:
            words = np.frombuffer(self._take(2 * prod(shape)), "<u2").astype(np.uint32) << 16
            return words.view(np.float32).reshape(shape)
        dtype = np.dtype(_DTYPES[kind] if 0 <= kind < len(_DTYPES) else "V0")
        if dtype.kind == "V":
            raise ValueError(f"an array of the type {kind}")
        array = np.frombuffer(self._take(dtype.itemsize * prod(shape)), dtype).reshape(shape)
        return array.astype(np.float32 if dtype.kind == "f" else dtype.newbyteorder("="))

    def _rank(self, rank: int) -> int:
        if rank > 32:
            raise ValueError(f"an array of {rank} dimensions")
        return max(rank, 0)
