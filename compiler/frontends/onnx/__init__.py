"""The ONNX importer."""

from .import_model import import_model

__all__ = ["import_model"]
