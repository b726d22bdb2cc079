"""PyTorch's modules and exported programs (`.pt2`), by its own exporter to ONNX (extra `torch`)."""

from .export_module import export_module, export_program, is_torch, read_program

__all__ = ["export_module", "export_program", "is_torch", "read_program"]
