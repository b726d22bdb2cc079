"""Values of an ML program: types, and constants as a file has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from .read_blob import read_blob
from .read_model import Model
from .types import DATA_TYPES, decode

_WIDE = {"bfloat16": "float32", "int4": "int8", **{f"uint{bits}": "uint8" for bits in (1, 2, 3, 4, 6)}}
"""Types of constants by that of the elements as `decode` has them."""


@dataclass(slots=True)
class Value:
    """A tensor of a program. Of `shape` None is a free dimension; `data` are the elements of a constant, or a list.
    `name` is the ONNX value, "" of a constant that is not in the model yet."""

    dtype: str
    shape: tuple[int | None, ...]
    data: Any = None
    name: str = ""


def type_of(declared: Any) -> Value:
    """The type of a value. Raises UnsupportedError for what is no tensor."""
    if not declared.HasField("tensorType"):
        kind = next((f.name.removesuffix("Type") for f, _ in declared.ListFields()), "nothing")
        raise UnsupportedError(f"a value is a {kind}, and tensors are supported")
    tensor = declared.tensorType
    if tensor.dataType not in DATA_TYPES:
        raise UnsupportedError(f"elements of the type {tensor.dataType} are not supported")
    shape = tuple(int(d.constant.size) if d.HasField("constant") else None for d in tensor.dimensions)
    return Value(DATA_TYPES[tensor.dataType], shape)


def read_value(model: Model, value: Any) -> Value:
    """A constant. Raises ValueError where its elements are not those of its type, and what reading weights raises."""
    if value.HasField("immediateValue") and not value.immediateValue.HasField("tensor"):
        immediate = value.immediateValue
        listed = immediate.list if immediate.HasField("list") else immediate.tuple
        items = [read_value(model, v) for v in listed.values]
        return Value(items[0].dtype if items else "int32", (len(items),), [v.data for v in items])
    found = type_of(value.type)
    shape = tuple(n for n in found.shape if n is not None)
    if len(shape) != len(found.shape):
        raise ValueError("a constant has a free dimension")
    if value.HasField("blobFileValue"):
        data = read_blob(model.weights(value.blobFileValue.fileName), value.blobFileValue.offset)
        found.data = decode(data, found.dtype, shape)
    else:
        found.data = _immediate(value.immediateValue.tensor, found.dtype, shape)
    found.dtype = _WIDE.get(found.dtype, found.dtype)
    return found


def _immediate(tensor: Any, dtype: str, shape: tuple[int, ...]) -> Any:
    kind = next((f.name for f, _ in tensor.ListFields()), "ints")
    values = getattr(tensor, kind).values
    if kind == "bytes":
        return decode(values, dtype, shape)
    if kind == "strings":
        return values[0] if not shape else list(values)
    return np.asarray(values, _WIDE.get(dtype, dtype)).reshape(shape)
