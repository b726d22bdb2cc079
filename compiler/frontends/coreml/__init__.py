"""Core ML models: `read_model` reads protobuf messages and packages, `convert` makes an ONNX model of them.
`operators/` has a function for each operation of ML programs, `layers/` one for each layer of neural networks."""

from .convert import convert
from .describe import describe, files_beside, usual_sizes
from .read_model import read_model

__all__ = ["convert", "describe", "files_beside", "read_model", "usual_sizes"]
