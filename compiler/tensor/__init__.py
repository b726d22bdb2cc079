"""Tensors: operators as expressions of their elements."""

from .tensor import Tensor, compute, constant, placeholder, reduce

__all__ = ["Tensor", "compute", "constant", "placeholder", "reduce"]
