"""TensorFlow's graphs, read without TensorFlow: `read_model` reads SavedModels, frozen graphs and TensorFlow.js's graph
models, `convert` makes an ONNX model of one, `operators/` has a function for each operator."""

from .convert import convert
from .describe import describe, describe_read, files_beside
from .read_model import read_model

__all__ = ["convert", "describe", "describe_read", "files_beside", "read_model"]
