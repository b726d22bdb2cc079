"""Caffe models without Caffe: `read_model` reads the network and its weights, `convert` makes an ONNX model of them,
`layers/` has a function for each type of layer."""

from .convert import convert, usual_sizes
from .describe import describe
from .read_model import files_beside, read_model

__all__ = ["convert", "describe", "files_beside", "read_model", "usual_sizes"]
