"""TFLite models: `read_model` reads the flatbuffer, `convert` makes an ONNX model of it, `operators/` has a function
for each operator."""

from .import_model import describe, import_model

__all__ = ["describe", "import_model"]
