"""MXNet models without MXNet: `read_model` reads the symbol and its parameters, `convert` makes an ONNX model of them,
`operators/` has a function for each operator."""

from .convert import convert
from .import_model import describe, import_model
from .read_model import read_model

__all__ = ["convert", "describe", "import_model", "read_model"]
