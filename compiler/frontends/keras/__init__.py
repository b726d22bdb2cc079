"""Keras models without Keras: `read_model` reads the file, `convert` makes an ONNX model of it, `layers/` has a
function for each class of layers."""

from .convert import convert
from .import_model import describe, describe_read, import_model
from .read_model import read_model

__all__ = ["convert", "describe", "describe_read", "import_model", "read_model"]
