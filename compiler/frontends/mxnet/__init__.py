"""MXNet models without MXNet: `read_model` reads the symbol and its parameters, `convert` makes an ONNX model of them,
`operators/` has a function for each operator."""

from .convert import convert, usual_sizes
from .describe import describe
from .read_model import files_beside, read_model

__all__ = ["convert", "describe", "files_beside", "read_model", "usual_sizes"]
