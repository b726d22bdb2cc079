"""Finds tensors by name in a file of safetensors, which external data of a model may be.

Source: the safetensors format: the length of a header as an integer of 64 bits, the header as JSON, then the data.
"""

from __future__ import annotations

import json
from typing import Any, BinaryIO

_LONGEST = 100_000_000
"""Bytes of a header, by the format."""


def find_tensor(file: BinaryIO, name: str) -> tuple[int, int, list[int]]:
    """The offset in the file, the bytes and the shape of the tensor. Raises LookupError where there is none, ValueError
    for a damaged header."""
    file.seek(0)
    size = int.from_bytes(file.read(8), "little")
    if size > _LONGEST:
        raise ValueError(f"its header has {size} bytes")
    header: Any = json.loads(file.read(size))
    if not isinstance(header, dict):
        raise ValueError("its header is no object")
    if name == "__metadata__" or name not in header:
        raise LookupError(name)
    try:
        first, last = (int(n) for n in header[name]["data_offsets"])
        shape = [int(n) for n in header[name]["shape"]]
    except (LookupError, TypeError, ValueError) as error:
        raise ValueError(f"its entry is damaged: {type(error).__name__}: {error}") from None
    if not 0 <= first <= last:
        raise ValueError(f"its data is from {first} to {last}")
    return 8 + size + first, last - first, shape
