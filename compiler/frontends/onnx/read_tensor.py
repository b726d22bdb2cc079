"""The elements of a stored tensor, wherever the model keeps them."""

from __future__ import annotations

from pathlib import Path, PurePosixPath, PureWindowsPath

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ...dtypes import DTYPES, DType
from ...errors import InputError, UnsupportedError
from ...graph.ir import Array
from .read_model import Source


def read_tensor(tensor: onnx.TensorProto, source: Source, name: str = "") -> Array:
    """The elements as an array that may share memory with `tensor`.

    Raises UnsupportedError for a dtype that has no DType, InputError for missing or damaged data.
    """
    name = name or tensor.name
    dtype = element_type(tensor.data_type)
    if dtype is None:
        raise UnsupportedError(f"tensor {name!r} has elements of type {type_name(tensor.data_type)}")
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        return _read_external(tensor, name, dtype, source)
    try:
        return numpy_helper.to_array(tensor)
    except (ValueError, TypeError) as error:
        raise InputError(
            f"{source.name}: tensor {name!r} of shape {list(tensor.dims)} is damaged ({error}); export the model again"
        ) from None


def read_sparse(tensor: onnx.SparseTensorProto, source: Source, name: str) -> Array:
    """The dense equivalent. ONNX: indices are of shape [NNZ] (linear) or [NNZ, rank]."""
    values, indices = read_tensor(tensor.values, source, name), read_tensor(tensor.indices, source, name)
    dense = np.zeros(tuple(tensor.dims), values.dtype)
    try:
        dense.reshape(-1)[indices if indices.ndim == 1 else np.ravel_multi_index(tuple(indices.T), dense.shape)] = (
            values
        )
    except (IndexError, ValueError) as error:
        raise InputError(
            f"{source.name}: sparse tensor {name!r} is damaged ({error}); export the model again"
        ) from None
    return dense


def element_type(code: int) -> DType | None:
    """The DType of an ONNX element type; None where there is none (strings, complex numbers, 4 and 8-bit floats...)."""
    try:
        return DTYPES.get(helper.tensor_dtype_to_np_dtype(code).name)
    except (KeyError, ValueError):
        return None


def type_name(code: int) -> str:
    """The name of an ONNX element type for messages."""
    known = code in onnx.TensorProto.DataType.values()
    return str(onnx.TensorProto.DataType.Name(code)).lower() if known else f"number {code}, unknown to ONNX"


def _read_external(tensor: onnx.TensorProto, name: str, dtype: DType, source: Source) -> Array:
    entries = {e.key: e.value for e in tensor.external_data}
    location = entries.get("location", "")
    path = _resolve(location, name, source)
    count = int(np.prod(tensor.dims, dtype=np.int64))
    try:
        offset, length = int(entries.get("offset", 0)), int(entries.get("length", count * dtype.bytes))
    except ValueError:
        offset = length = -1
    if offset < 0 or length != count * dtype.bytes:
        raise InputError(
            f"{source.name}: tensor {name!r} of shape {list(tensor.dims)} needs {count * dtype.bytes} bytes, and the "
            f"model asks for {entries.get('length')} at {entries.get('offset', 0)} in {location!r}; export it again"
        )
    try:
        elements = np.fromfile(path, dtype.numpy.newbyteorder("<"), count, offset=offset)
    except FileNotFoundError:
        raise InputError(
            f"{source.name}: the file {path} with the data of tensor {name!r} is missing; put it beside the model"
        ) from None
    except OSError as error:
        raise InputError(f"{source.name}: {path}, with the data of tensor {name!r}, cannot be read: {error}") from None
    if elements.size != count:
        raise InputError(
            f"{source.name}: the file {path} ends within tensor {name!r}, which needs {length} bytes at {offset}; "
            "copy or export it again"
        )
    return elements.reshape(tuple(tensor.dims))


def _resolve(location: str, name: str, source: Source) -> Path:
    # A model must not read what lies outside its own folder. A link inside it is the user's doing and is followed.
    posix, windows = PurePosixPath(location), PureWindowsPath(location)
    if not location or posix.is_absolute() or windows.anchor or ".." in (*posix.parts, *windows.parts):
        raise InputError(
            f"{source.name}: tensor {name!r} refers to the file {location!r}, which is not within the model's folder; "
            "this is refused: save the model again with its data beside it"
        )
    if source.folder is None:
        raise InputError(
            f"{source.name} keeps the data of tensor {name!r} in the file {location!r}; give the path of the model"
        )
    return source.folder / location
