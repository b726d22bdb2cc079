"""Keras models without Keras: `read_model` reads the file, `convert` makes an ONNX model of it, `layers/` has a
function for each class of layers."""

from .convert import convert
from .describe import describe, describe_read
from .read_model import read_model

__all__ = ["convert", "describe", "describe_read", "read_model"]
