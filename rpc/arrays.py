"""Tensors in a message: their names, dtypes and shapes in the header, their elements one after the other as payload."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from .messages import Buffer, Message, ProtocolError, is_count

Array = np.ndarray[Any, np.dtype[Any]]

DTYPES = frozenset(
    ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool")
)


def pack_arrays(arrays: Mapping[str, Array]) -> tuple[list[dict[str, Any]], bytes]:
    """For the header's field `arrays`, and the payload, little-endian. Raises TypeError for other dtypes."""
    specs, parts = [], []
    for name, array in arrays.items():
        if array.dtype.name not in DTYPES:
            raise TypeError(f"input '{name}' is of {array.dtype}, which no model takes")
        specs.append({"name": name, "dtype": array.dtype.name, "shape": list(array.shape)})
        parts.append(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes())
    return specs, b"".join(parts)


def unpack_arrays(message: Message) -> dict[str, Array]:
    """The arrays of a message. Raises ProtocolError where header and payload contradict each other."""
    specs, data = message.header.get("arrays"), memoryview(message.payload)
    if not isinstance(specs, list):
        raise ProtocolError("a message without arrays")
    arrays: dict[str, Array] = {}
    for spec in specs:
        array, data = _take(spec, data)
        if spec["name"] in arrays:
            raise ProtocolError(f"two arrays with the name {spec['name']!r}")
        arrays[spec["name"]] = array
    if data:
        raise ProtocolError(f"{len(data)} bytes more than its arrays have")
    return arrays


def _take(spec: Any, data: Buffer) -> tuple[Array, memoryview]:
    """The array of `spec` from the front of `data`, and the rest."""
    match spec:
        case {"name": str(), "dtype": str(dtype), "shape": [*shape]} if dtype in DTYPES:
            pass
        case _:
            raise ProtocolError(f"no array is described by {str(spec)[:100]}")
    if not all(map(is_count, shape)):
        raise ProtocolError(f"no array has the shape {str(shape)[:100]}")
    kind = np.dtype(dtype).newbyteorder("<")
    size = prod(shape) * kind.itemsize
    view = memoryview(data)
    if size > len(view):
        raise ProtocolError(f"{len(view)} bytes where an array has {size}")
    return np.frombuffer(view[:size], kind).reshape(shape).astype(np.dtype(dtype)), view[size:]
