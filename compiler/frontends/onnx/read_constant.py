"""The elements of a Constant node."""

from __future__ import annotations

import numpy as np
import onnx

from ...errors import UnsupportedError
from ...graph.ir import Array
from .read_model import Source
from .read_tensor import read_sparse


def read_constant(node: onnx.NodeProto, name: str, source: Source) -> Array:
    """By the one attribute that a Constant has (five numeric forms since opset 12), which is no dense tensor. `name` is
    that of the node."""
    attribute = node.attribute[0]
    match attribute.name:
        case "sparse_value":
            return read_sparse(attribute.sparse_tensor, source, name)
        case "value_float":
            return np.asarray(attribute.f, np.float32)
        case "value_floats":
            return np.asarray(attribute.floats, np.float32)
        case "value_int":
            return np.asarray(attribute.i, np.int64)
        case "value_ints":
            return np.asarray(attribute.ints, np.int64)
    raise UnsupportedError(f"Constant (node {name!r}): it holds text ({attribute.name}); remove text from the model")
