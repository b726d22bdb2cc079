"""WebGPU: kernels as compute shaders in WGSL."""

from .backend import WebGpu
from .render import render

__all__ = ["WebGpu", "render"]
