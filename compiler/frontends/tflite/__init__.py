"""TFLite models: `read_model` reads the flatbuffer, `convert` makes an ONNX model of it, `operators/` has a function
for each operator."""

from .convert import convert, usual_sizes
from .describe import describe
from .read_model import read_model

__all__ = ["convert", "describe", "read_model", "usual_sizes"]
