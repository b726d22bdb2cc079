"""From a Core ML model to an ONNX model."""

from __future__ import annotations

import onnx

from .convert_network import convert_network
from .convert_program import convert_program
from .read_model import Model, valid


def convert(model: Model) -> onnx.ModelProto:
    """Inputs and outputs have the names of the model's description. Raises UnsupportedError, which names all that is
    not supported, and InputError for what no converter writes."""
    with valid(model.name):
        return convert_program(model) if model.network is None else convert_network(model)
