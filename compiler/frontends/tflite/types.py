"""Element types of TFLite as ONNX has them."""

from __future__ import annotations

import onnx

from ...errors import UnsupportedError
from .read_model import Tensor

_T = onnx.TensorProto
_TYPES = {
    "float16": _T.FLOAT16,
    "float32": _T.FLOAT,
    "float64": _T.DOUBLE,
    "bfloat16": _T.BFLOAT16,
    "int4": _T.INT4,
    "int8": _T.INT8,
    "int16": _T.INT16,
    "int32": _T.INT32,
    "int64": _T.INT64,
    "uint8": _T.UINT8,
    "uint16": _T.UINT16,
    "uint32": _T.UINT32,
    "uint64": _T.UINT64,
    "bool": _T.BOOL,
}
INTEGERS = ("int4", "int8", "uint8", "int16", "uint16", "int32", "int64")
"""Types that quantised tensors have."""


def onnx_type(dtype: str) -> int:
    """Raises UnsupportedError for strings, complex numbers, resources and variants."""
    if dtype not in _TYPES:
        raise UnsupportedError(f"elements of type {dtype} are not supported")
    return int(_TYPES[dtype])


def stored_type(tensor: Tensor) -> int | None:
    """The ONNX type of what NumPy holds in another one; None where it has it."""
    return onnx_type(tensor.dtype) if tensor.dtype in ("int4", "bfloat16") else None
