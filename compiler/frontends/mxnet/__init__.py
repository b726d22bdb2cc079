"""MXNet models without MXNet: `read_model` reads the symbol and its parameters, `convert` makes an ONNX model of them,
`operators/` has a function for each operator."""

from .convert import convert
from .import_model import describe, import_model
from .read_model import files_beside, read_model

__all__ = ["convert", "describe", "files_beside", "import_model", "read_model"]
