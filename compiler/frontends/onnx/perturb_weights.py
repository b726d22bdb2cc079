"""Perturbs a model's weights, which changes its roundings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from .check_model import all_nodes

_SHIFT = 1 + 2.0**-20
"""By which float weights grow: some roundings of float32."""

_LARGEST = 2**31
"""Bytes of a message, by protobuf's own limit."""


def perturb_weights(model: Path | bytes) -> bytes | None:
    """A model that quantises between its layers, with each float weight a little larger: results that lie between two
    quanta then fall to the other one, as they do where sums are taken in another order. None for other models."""
    proto = onnx.load_from_string(model) if isinstance(model, bytes) else onnx.load(model)
    if proto.ByteSize() >= _LARGEST or not any(n.op_type == "QuantizeLinear" for n in all_nodes(proto.graph.node)):
        return None
    for tensor in proto.graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT:
            array = numpy_helper.to_array(tensor) * np.float32(_SHIFT)
            tensor.CopyFrom(numpy_helper.from_array(array.astype(np.float32), tensor.name))
    return bytes(proto.SerializeToString())
