"""Tensors: an operator says here what it computes, element by element."""

from .tensor import Tensor, compute, constant, placeholder, reduce

__all__ = ["Tensor", "compute", "constant", "placeholder", "reduce"]
