"""TFLite models: `read_model` reads the flatbuffer, `convert` makes an ONNX model of it, `operators/` has a function
for each operator."""

from .convert import convert
from .import_model import describe, import_model
from .read_model import read_model

__all__ = ["convert", "describe", "import_model", "read_model"]
