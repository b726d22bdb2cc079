"""The elements of a stored tensor, wherever the model keeps them."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import BinaryIO

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ...dtypes import DTYPES, I8, STORAGE_TYPES, U16, DType, StorageType
from ...errors import InputError, UnsupportedError
from ...graph.ir import Array
from ...system.limits import RANK
from ..beside_model import lies_within, resolve_beside
from ..open_file import NotRegular, open_file
from .read_model import Source
from .safetensors_header import find_tensor


def read_tensor(tensor: onnx.TensorProto, source: Source, name: str = "") -> Array:
    """The elements as an array that may share memory with `tensor`.

    Raises UnsupportedError for a dtype that has no DType, InputError for missing or damaged data, and where the
    memory for compiling is spent.
    """
    name = name or tensor.name
    if tensor.data_type in STORAGE_TYPES:
        return widened(read_words(tensor, source, name), STORAGE_TYPES[tensor.data_type], tuple(tensor.dims))
    dtype = element_type(tensor.data_type)
    if dtype is None:
        raise UnsupportedError(f"tensor {name!r} has elements of type {type_name(tensor.data_type)}")
    shape = _shape(tensor.dims, name, source)
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        return _read_external(tensor, shape, prod(shape), name, dtype, source).reshape(shape)
    try:
        array = numpy_helper.to_array(tensor)
    except (ValueError, TypeError, OverflowError) as error:
        raise _damaged(name, shape, str(error), source) from None
    source.memory.reserve(array.nbytes, f"{source.name}: tensor {name!r}")
    return array


def read_words(tensor: onnx.TensorProto, source: Source, name: str) -> Array:
    """The words that hold the elements of a tensor of a storage type, in a row. Raises InputError as `read_tensor`."""
    stored = STORAGE_TYPES[tensor.data_type]
    shape = _shape(tensor.dims, name, source)
    count = -(-prod(shape) // stored.per_word)
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        return _read_external(tensor, shape, count, name, stored.word, source)
    if tensor.HasField("raw_data"):
        words = np.frombuffer(tensor.raw_data, np.uint8)
        whole = words[: words.size - words.size % stored.word.bytes]
        words = whole.view(stored.word.numpy.newbyteorder("<")).astype(stored.word.numpy)
    else:
        words = np.asarray(tensor.int32_data, np.int64).astype(stored.word.numpy)
    if words.size != count:
        raise _damaged(name, shape, f"it has {words.size} words in place of {count}", source)
    source.memory.reserve(words.nbytes, f"{source.name}: tensor {name!r}")
    return words


def _damaged(name: str, shape: tuple[int, ...], reason: str, source: Source) -> InputError:
    return InputError(
        f"{source.name}: tensor {name!r} of shape {list(shape)} is damaged ({reason}); export the model again"
    )


def widened(words: Array, stored: StorageType, shape: tuple[int, ...]) -> Array:
    """The elements that are packed into `words`, of the type that holds them."""
    if stored.word == U16:
        return (words.astype(np.uint32) << 16).view(np.float32).reshape(shape)
    places = np.arange(stored.per_word, dtype=np.uint8) * stored.bits
    parts = (words[:, None] >> places & ((1 << stored.bits) - 1)).reshape(-1)[: prod(shape)].reshape(shape)
    if stored.format is not None:
        return np.asarray(stored.format.values()[parts])
    half = 1 << (stored.bits - 1)
    return ((parts ^ half).astype(np.int8) - half).astype(np.int8) if stored.held == I8 else parts


def read_sparse(tensor: onnx.SparseTensorProto, source: Source, name: str) -> Array:
    """The dense equivalent. ONNX: indices are of shape [NNZ] (linear) or [NNZ, rank]."""
    shape = _shape(tensor.dims, name, source)
    values, indices = read_tensor(tensor.values, source, name), read_tensor(tensor.indices, source, name)
    source.memory.reserve(
        prod(shape) * values.itemsize, f"{source.name}: sparse tensor {name!r} of shape {list(shape)}"
    )
    dense = np.zeros(shape, values.dtype)
    try:
        dense.reshape(-1)[indices if indices.ndim == 1 else np.ravel_multi_index(tuple(indices.T), dense.shape)] = (
            values
        )
    except (IndexError, TypeError, ValueError) as error:
        raise InputError(
            f"{source.name}: sparse tensor {name!r} is damaged ({error}); export the model again"
        ) from None
    return dense


def element_type(code: int) -> DType | None:
    """The DType of values of an ONNX element type; None where there is none (strings, complex numbers)."""
    if code in STORAGE_TYPES:
        return STORAGE_TYPES[code].held
    try:
        return DTYPES.get(helper.tensor_dtype_to_np_dtype(code).name)
    except (KeyError, ValueError):
        return None


def type_name(code: int) -> str:
    """The name of an ONNX element type for messages."""
    is_named = code in onnx.TensorProto.DataType.values()
    return str(onnx.TensorProto.DataType.Name(code)).lower() if is_named else f"number {code}, unknown to ONNX"


def _shape(dims: object, name: str, source: Source) -> tuple[int, ...]:
    shape = tuple(int(d) for d in dims)  # type: ignore[attr-defined]
    if any(extent < 0 for extent in shape) or len(shape) > RANK:
        raise InputError(
            f"{source.name}: tensor {name!r} of shape {list(shape)} is damaged (extents are 0 or more, at "
            f"most {RANK} of them); export the model again"
        )
    return shape


def _read_external(
    tensor: onnx.TensorProto, shape: tuple[int, ...], count: int, name: str, dtype: DType, source: Source
) -> Array:
    """`count` elements of `dtype` in a row: from an offset on, or in a file of safetensors by name where the model
    has none."""
    entries = {e.key: e.value for e in tensor.external_data}
    location = entries.get("location", "")
    path = resolve_beside(location, source.folders, source.name, f"tensor {name!r}")
    needed = count * dtype.bytes
    try:
        offset, length = int(entries.get("offset", 0)), int(entries.get("length", needed))
    except ValueError:
        offset = length = -1
    if offset < 0 or length != needed:
        raise InputError(
            f"{source.name}: tensor {name!r} of shape {list(shape)} needs {needed} bytes, and the "
            f"model refers to {entries.get('length')} at {entries.get('offset', 0)} in {location!r}; export it again"
        )
    try:
        file, size = open_file(path)
        with file:
            if offset + length > size:
                raise _ends_within(path, name, length, offset, source)
            if not lies_within(file, path, source.folders):
                raise _changed(path, name, source)
            if "offset" not in entries and location.endswith(".safetensors"):
                offset = _named_offset(file, tensor.name, shape, length, path, source)
                if offset + length > size:
                    raise _ends_within(path, name, length, offset, source)
            source.memory.reserve(length, f"{source.name}: tensor {name!r}")
            file.seek(offset)
            elements = np.fromfile(file, dtype.numpy.newbyteorder("<"), count)
            if elements.size != count:
                raise _changed(path, name, source)
    except FileNotFoundError:
        raise InputError(
            f"{source.name}: the file {path} with the data of tensor {name!r} is missing; put it beside the model"
        ) from None
    except NotRegular:
        raise InputError(
            f"{source.name}: {path}, with the data of tensor {name!r}, cannot be read: it is a folder, a pipe or a "
            "device; put the file itself there"
        ) from None
    except (OSError, ValueError) as error:
        raise InputError(f"{source.name}: {path}, with the data of tensor {name!r}, cannot be read: {error}") from None
    return elements


def _named_offset(file: BinaryIO, name: str, shape: tuple[int, ...], length: int, path: Path, source: Source) -> int:
    """The offset of a tensor of a file of safetensors, which has this shape and length."""
    try:
        offset, found, stored = find_tensor(file, name)
    except LookupError:
        reason = "has no such tensor"
    except (ValueError, RecursionError) as error:
        reason = f"is no file of safetensors ({error})"
    else:
        if found == length and (prod(stored) != prod(shape) or tuple(stored) == shape):
            return offset
        reason = f"has one of shape {stored} and {found} bytes, not of {length}"
    raise InputError(
        f"{source.name}: tensor {name!r} of shape {list(shape)} is looked for in {path}, which {reason}; export the "
        "model again"
    )


def _ends_within(path: Path, name: str, length: int, offset: int, source: Source) -> InputError:
    return InputError(
        f"{source.name}: the file {path} ends within tensor {name!r}, which needs {length} bytes at {offset}; copy or "
        "export it again"
    )


def _changed(path: Path, name: str, source: Source) -> InputError:
    return InputError(f"{source.name}: {path}, with the data of tensor {name!r}, changed meanwhile; try again")
