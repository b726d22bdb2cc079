"""Element types and constants of TensorFlow, as NumPy and ONNX have them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import onnx

from ...errors import UnsupportedError
from ...system.limits import RANK, check_elements
from .schema import type_name

Array = np.ndarray

_T = onnx.TensorProto
_DTYPES = {
    "float": ("<f4", "float_val"),
    "double": ("<f8", "double_val"),
    "int32": ("<i4", "int_val"),
    "uint8": ("u1", "int_val"),
    "int16": ("<i2", "int_val"),
    "int8": ("i1", "int_val"),
    "int64": ("<i8", "int64_val"),
    "bool": ("?", "bool_val"),
    "uint16": ("<u2", "int_val"),
    "half": ("<u2", "half_val"),
    "bfloat16": ("<u2", "half_val"),
    "uint32": ("<u4", "uint32_val"),
    "uint64": ("<u8", "uint64_val"),
}
"""By TensorFlow's name: the elements in a file, and the field of those that are listed one by one."""

_ONNX = {
    "float": _T.FLOAT,
    "double": _T.DOUBLE,
    "half": _T.FLOAT16,
    "bfloat16": _T.FLOAT,
    **{name: getattr(_T, name.upper()) for name in ("int8", "int16", "int32", "int64", "bool")},
    **{name: getattr(_T, name.upper()) for name in ("uint8", "uint16", "uint32", "uint64")},
}


def onnx_type(number: int) -> int:
    """The ONNX type of a DataType; bfloat16 is computed in float32. Raises UnsupportedError for strings, complex
    numbers, resources, variants and quantised types."""
    name = type_name(number)
    if name not in _ONNX:
        raise UnsupportedError(f"elements of type {name} are not supported")
    return int(_ONNX[name])


def shape_of(message: Any) -> tuple[int | None, ...] | None:
    """The shape of a TensorShapeProto: None for extents, or all of it, that are not known."""
    if message.unknown_rank:
        return None
    if len(message.dim) > RANK:
        raise ValueError(f"a shape of {len(message.dim)} dimensions")
    return tuple(None if d.size < 0 else int(d.size) for d in message.dim)


def elements(data: bytes | memoryview, number: int, shape: Sequence[int]) -> Array:
    """The elements in a row in `data`, of a DataType. Raises ValueError where their count is another one, and
    UnsupportedError for types that are not taken."""
    name = type_name(number)
    onnx_type(number)
    return _finished(np.frombuffer(data, _DTYPES[name][0]), name).reshape(tuple(shape))


def read_tensor(proto: Any) -> Array:
    """The elements of a TensorProto. Fewer than the shape has are followed by copies of the last one; zeros where there
    is none. Raises ValueError for damage, UnsupportedError for types that are not taken."""
    shape = shape_of(proto.tensor_shape)
    if shape is None or None in shape:
        raise ValueError("a constant of no definite shape")
    sizes = [n for n in shape if n is not None]
    name = type_name(proto.dtype)
    onnx_type(proto.dtype)
    check_elements(sizes, "a constant")
    count = prod(sizes)
    if proto.tensor_content:
        return elements(proto.tensor_content, proto.dtype, sizes)
    dtype, field = _DTYPES[name]
    listed = np.array(list(getattr(proto, field))[:count], np.int64 if field in ("int_val", "half_val") else dtype)
    listed = _finished(listed.astype(dtype), name)
    if len(listed) == count:
        return listed.reshape(sizes)
    # A view of one element: a small file may declare a large constant.
    if len(listed) <= 1:
        return np.broadcast_to(listed[0] if len(listed) else np.zeros((), listed.dtype), sizes)
    return np.append(listed, np.full(count - len(listed), listed[-1])).reshape(sizes)


def _finished(data: Array, name: str) -> Array:
    if name == "half":
        return data.view(np.float16)
    return (data.astype(np.uint32) << 16).view(np.float32) if name == "bfloat16" else data
