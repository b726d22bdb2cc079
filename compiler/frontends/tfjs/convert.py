"""From a TensorFlow.js model to an ONNX model."""

from __future__ import annotations

import onnx

from ..keras import convert as convert_layers
from ..keras.read_model import Model
from ..tensorflow import convert as convert_graph
from ..tensorflow.read_model import Model as GraphModel


def convert(model: Model | GraphModel) -> onnx.ModelProto:
    """An ONNX model. Raises InputError and UnsupportedError as the converters of Keras and TensorFlow do."""
    return convert_graph(model) if isinstance(model, GraphModel) else convert_layers(model)
