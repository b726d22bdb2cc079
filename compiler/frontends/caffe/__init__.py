"""Caffe models without Caffe: `read_model` reads the network and its weights, `convert` makes an ONNX model of them,
`layers/` has a function for each type of layer."""

from .convert import convert
from .import_model import describe, import_model
from .read_model import files_beside, read_model

__all__ = ["convert", "describe", "files_beside", "import_model", "read_model"]
